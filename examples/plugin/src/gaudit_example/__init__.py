"""An attack, a defense, a target and a reader of files for gaudit."""
