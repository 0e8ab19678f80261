"""What is known of secrets, so that none of them is shown: stores, matching, redaction."""
