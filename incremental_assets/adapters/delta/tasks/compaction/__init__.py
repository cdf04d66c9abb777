"""Small files of a table, put together by tasks in one commit that changes no row."""
