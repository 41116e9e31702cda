"""Federated training in which clients tell of their graphs: of neighbours, of classes, of what models answer."""
