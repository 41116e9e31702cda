"""What came out: outcomes, verdicts, audits."""
