SET QUOTED_IDENTIFIER ON
;
SET ANSI_NULLS ON
;
SET ANSI_WARNINGS ON
;
SET ARITHABORT ON
;
SET CONCAT_NULL_YIELDS_NULL ON
;
SET LANGUAGE us_english
;
SET DATEFORMAT ymd
;
SET DATEFIRST 7
;
SET TEXTSIZE 2147483647
;
SET ROWCOUNT 0
;
SET NOCOUNT ON
;
SET IMPLICIT_TRANSACTIONS OFF
;
SET NUMERIC_ROUNDABORT OFF
;
SET LOCK_TIMEOUT 60000
;
SELECT CONVERT(nvarchar(128), quoted_identifier), CONVERT(nvarchar(128), ansi_nulls), CONVERT(nvarchar(128), ansi_warnings), CONVERT(nvarchar(128), arithabort), CONVERT(nvarchar(128), concat_null_yields_null), CONVERT(nvarchar(128), language), CONVERT(nvarchar(128), date_format), CONVERT(nvarchar(128), date_first), CONVERT(nvarchar(128), text_size) FROM sys.dm_exec_sessions WHERE session_id = @@SPID
;
SELECT s.name, o.name, c.name,
       CASE WHEN c.encryption_type IS NOT NULL THEN 'encrypted '
            WHEN c.is_masked = 1 AND HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'UNMASK') = 0 THEN 'masked ' ELSE '' END,
       ISNULL(TYPE_NAME(b.user_type_id), TYPE_NAME(c.user_type_id)), c.max_length, c.precision, c.scale, c.is_nullable,
       CONVERT(bigint, i.increment_value),
       (SELECT CONVERT(nvarchar(4000), e.value) FROM sys.extended_properties AS e
        WHERE e.class = 1 AND e.major_id = o.object_id AND e.minor_id = c.column_id AND e.name = N'MS_Description')
FROM sys.columns AS c JOIN sys.objects AS o ON o.object_id = c.object_id JOIN sys.schemas AS s ON s.schema_id = o.schema_id
LEFT JOIN sys.types AS b ON b.user_type_id = c.system_type_id LEFT JOIN sys.identity_columns AS i ON i.object_id = c.object_id AND i.column_id = c.column_id
WHERE o.type IN ('U', 'V') AND c.is_hidden = 0 AND c.is_column_set = 0 AND s.name IN (N'dbo') AND (N'' = N'' OR o.name = N'')
ORDER BY s.name, o.name, c.column_id
;
SELECT s.name, o.name, x.name, x.is_primary_key, c.name
FROM sys.indexes AS x JOIN sys.objects AS o ON o.object_id = x.object_id JOIN sys.schemas AS s ON s.schema_id = o.schema_id
JOIN sys.index_columns AS k ON k.object_id = x.object_id AND k.index_id = x.index_id AND k.key_ordinal > 0
JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
WHERE x.is_unique = 1 AND x.has_filter = 0 AND x.is_disabled = 0 AND o.type = 'U'
  AND s.name IN (N'dbo') AND (N'' = N'' OR o.name = N'') ORDER BY s.name, o.name, x.index_id, k.key_ordinal
;
SELECT s.name, o.name FROM sys.security_predicates AS p JOIN sys.security_policies AS y ON y.object_id = p.object_id AND y.is_enabled = 1
JOIN sys.objects AS o ON o.object_id = p.target_object_id JOIN sys.schemas AS s ON s.schema_id = o.schema_id WHERE p.predicate_type = 0
;
SELECT s.name, o.name, o.type, HAS_PERMS_BY_NAME(QUOTENAME(s.name) + N'.' + QUOTENAME(o.name), N'OBJECT', N'SELECT'),
       (SELECT SUM(p.rows) FROM sys.partitions AS p WHERE p.object_id = o.object_id AND p.index_id < 2),
       (SELECT SUM(a.used_pages) * 8192 FROM sys.partitions AS p JOIN sys.allocation_units AS a ON a.container_id IN (p.hobt_id, p.partition_id)
        WHERE p.object_id = o.object_id AND p.index_id < 2),
       t.is_memory_optimized, t.is_external,
       (SELECT CONVERT(nvarchar(4000), e.value) FROM sys.extended_properties AS e
        WHERE e.class = 1 AND e.major_id = o.object_id AND e.minor_id = 0 AND e.name = N'MS_Description')
FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id LEFT JOIN sys.tables AS t ON t.object_id = o.object_id
WHERE o.type IN ('U', 'V') AND o.is_ms_shipped = 0 AND s.name IN (N'dbo') AND (N'' = N'' OR o.name = N'') ORDER BY s.name, o.name
;
SELECT CONVERT(varchar(27), SYSUTCDATETIME(), 126), DATEPART(TZOFFSET, SYSDATETIMEOFFSET())
;
SELECT DB_NAME(), CONVERT(nvarchar(60), DATABASEPROPERTYEX(DB_NAME(), 'Updateability')),
       (SELECT snapshot_isolation_state FROM sys.databases WHERE database_id = DB_ID()),
       ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE'), 0)
;
SELECT r.session_id, CONVERT(varchar(23), r.start_time, 126), s.login_name, s.program_name
FROM sys.dm_exec_requests AS r JOIN sys.dm_exec_sessions AS s ON s.session_id = r.session_id
WHERE r.session_id <> @@SPID AND s.is_user_process = 1
;
SELECT t.transaction_id, CONVERT(varchar(23), t.transaction_begin_time, 126), t.transaction_state, x.session_id, s.login_name, s.program_name
FROM sys.dm_tran_active_transactions AS t LEFT JOIN sys.dm_tran_session_transactions AS x ON x.transaction_id = t.transaction_id
LEFT JOIN sys.dm_exec_sessions AS s ON s.session_id = x.session_id
WHERE t.transaction_type IN (1, 4) AND t.transaction_state <> 6 AND (x.session_id IS NULL OR x.session_id <> @@SPID)
;
SELECT CONVERT(char(36), d.service_broker_guid), CONVERT(char(36), r.database_guid), CONVERT(char(36), r.recovery_fork_guid), l.log_end_lsn
FROM sys.databases AS d LEFT JOIN sys.database_recovery_status AS r ON r.database_id = d.database_id CROSS APPLY sys.dm_db_log_stats(d.database_id) AS l
WHERE d.database_id = DB_ID()
;
SELECT ms_ticks - sqlserver_start_time_ms_ticks FROM sys.dm_os_sys_info
;
SELECT s.name, o.name, c.name,
       CASE WHEN c.encryption_type IS NOT NULL THEN 'encrypted '
            WHEN c.is_masked = 1 AND HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'UNMASK') = 0 THEN 'masked ' ELSE '' END,
       ISNULL(TYPE_NAME(b.user_type_id), TYPE_NAME(c.user_type_id)), c.max_length, c.precision, c.scale, c.is_nullable,
       CONVERT(bigint, i.increment_value),
       (SELECT CONVERT(nvarchar(4000), e.value) FROM sys.extended_properties AS e
        WHERE e.class = 1 AND e.major_id = o.object_id AND e.minor_id = c.column_id AND e.name = N'MS_Description')
FROM sys.columns AS c JOIN sys.objects AS o ON o.object_id = c.object_id JOIN sys.schemas AS s ON s.schema_id = o.schema_id
LEFT JOIN sys.types AS b ON b.user_type_id = c.system_type_id LEFT JOIN sys.identity_columns AS i ON i.object_id = c.object_id AND i.column_id = c.column_id
WHERE o.type IN ('U', 'V') AND c.is_hidden = 0 AND c.is_column_set = 0 AND s.name IN (N'dbo') AND (N'orders' = N'' OR o.name = N'orders')
ORDER BY s.name, o.name, c.column_id
;
SELECT s.name, o.name, x.name, x.is_primary_key, c.name
FROM sys.indexes AS x JOIN sys.objects AS o ON o.object_id = x.object_id JOIN sys.schemas AS s ON s.schema_id = o.schema_id
JOIN sys.index_columns AS k ON k.object_id = x.object_id AND k.index_id = x.index_id AND k.key_ordinal > 0
JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
WHERE x.is_unique = 1 AND x.has_filter = 0 AND x.is_disabled = 0 AND o.type = 'U'
  AND s.name IN (N'dbo') AND (N'orders' = N'' OR o.name = N'orders') ORDER BY s.name, o.name, x.index_id, k.key_ordinal
;
SELECT s.name, o.name, o.type, HAS_PERMS_BY_NAME(QUOTENAME(s.name) + N'.' + QUOTENAME(o.name), N'OBJECT', N'SELECT'),
       (SELECT SUM(p.rows) FROM sys.partitions AS p WHERE p.object_id = o.object_id AND p.index_id < 2),
       (SELECT SUM(a.used_pages) * 8192 FROM sys.partitions AS p JOIN sys.allocation_units AS a ON a.container_id IN (p.hobt_id, p.partition_id)
        WHERE p.object_id = o.object_id AND p.index_id < 2),
       t.is_memory_optimized, t.is_external,
       (SELECT CONVERT(nvarchar(4000), e.value) FROM sys.extended_properties AS e
        WHERE e.class = 1 AND e.major_id = o.object_id AND e.minor_id = 0 AND e.name = N'MS_Description')
FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id LEFT JOIN sys.tables AS t ON t.object_id = o.object_id
WHERE o.type IN ('U', 'V') AND o.is_ms_shipped = 0 AND s.name IN (N'dbo') AND (N'orders' = N'' OR o.name = N'orders') ORDER BY s.name, o.name
;
SELECT [id], CONVERT(varbinary(max), CONVERT(nvarchar(max), [note])), [price], [updated_at], CONVERT(bigint, [version]) FROM [dbo].[orders] WHERE ([updated_at] IS NOT NULL) OR ([updated_at] IS NULL)
;
SELECT COUNT_BIG(*) FROM [dbo].[orders] WHERE ([updated_at] IS NOT NULL) OR ([updated_at] IS NULL)
;
SELECT COUNT_BIG(*) FROM [dbo].[orders] WHERE [updated_at] IS NULL
;
SELECT [id], CONVERT(varbinary(max), CONVERT(nvarchar(max), [note])), [price], [updated_at], CONVERT(bigint, [version]) FROM [dbo].[orders] WHERE (([updated_at] IS NOT NULL) AND ([updated_at] >= CONVERT(datetime2(7), '2024-05-01T09:59:58'))) OR ([updated_at] IS NULL)
;
SELECT CONVERT(bigint, MAX([version])) FROM [dbo].[orders] WHERE ([version] IS NOT NULL) AND ([version] < MIN_ACTIVE_ROWVERSION())
;
SELECT CONVERT(bigint, MIN_ACTIVE_ROWVERSION())
;
SELECT CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')), ORIGINAL_LOGIN(), IS_SRVROLEMEMBER('sysadmin')
;
SELECT CASE WHEN o.type = 'U' THEN 1 ELSE 0 END, HAS_PERMS_BY_NAME(N'[dbo].[orders]', N'OBJECT', N'SELECT'),
       ISNULL(HAS_PERMS_BY_NAME(N'[dbo].[orders]', N'OBJECT', N'INSERT'), 0) + ISNULL(HAS_PERMS_BY_NAME(N'[dbo].[orders]', N'OBJECT', N'UPDATE'), 0)
       + ISNULL(HAS_PERMS_BY_NAME(N'[dbo].[orders]', N'OBJECT', N'DELETE'), 0),
       (SELECT SUM(p.rows) FROM sys.partitions AS p WHERE p.object_id = o.object_id AND p.index_id < 2),
       (SELECT COUNT(*) FROM sys.partitions AS p WHERE p.object_id = o.object_id AND p.index_id < 2 AND p.partition_number > 1)
FROM sys.objects AS o WHERE o.object_id = OBJECT_ID(N'[dbo].[orders]') AND o.type IN ('U', 'V')
;
SELECT COUNT(*) FROM sys.index_columns AS k JOIN sys.indexes AS x ON x.object_id = k.object_id AND x.index_id = k.index_id
WHERE k.object_id = OBJECT_ID(N'[dbo].[orders]') AND k.key_ordinal = 1 AND x.is_disabled = 0 AND x.has_filter = 0 AND COL_NAME(k.object_id, k.column_id) = N'updated_at'
