"""What tests share: small inputs, simulated audits, files that several tests read."""
