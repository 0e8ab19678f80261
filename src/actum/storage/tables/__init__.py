"""The tables beside the runs in a journal's database: one file for each table or group of tables."""
