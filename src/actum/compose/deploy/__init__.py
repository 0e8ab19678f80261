"""What a company needs of a server beside serving: backups, and telemetry."""
