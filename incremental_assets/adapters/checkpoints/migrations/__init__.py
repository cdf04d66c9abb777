"""The checkpoint database's versions, one script each. A script that was released is never edited: write the next."""
