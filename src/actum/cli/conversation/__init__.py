"""Commands that begin a run and talk with it: ask, chat, call a tool, go on, approve at the terminal."""
