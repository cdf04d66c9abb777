-- Every type of PostgreSQL that a plain server has, with NULL, extremes and oddities; and rows that Spark cannot hold.
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN price AS numeric(10,2);
CREATE DOMAIN code AS char(5);
CREATE DOMAIN fee AS price CHECK (VALUE > -100);
CREATE DOMAIN stamp AS timestamptz;

CREATE TABLE everything (
    id int PRIMARY KEY, i2 int2, i4 int4, i8 int8, b bool, f4 float4, f8 float8,
    n numeric, n152 numeric(15,2), n50 numeric(50,2), n38 numeric(38,38), n380 numeric(38,0), nneg numeric(3,-2), nbig numeric(2,5), n3810 numeric(38,10),
    t text, vc varchar(20), vcu varchar, ch char(5), chu bpchar, nm name, c1 "char", by bytea,
    d date, ts timestamp, tsz timestamptz, ts0 timestamp(0), tm time, tmz timetz, iv interval,
    u uuid, j json, jb jsonb, e mood, ia int[], ta text[][], fa float8[], da date[], co pair, ir int4range, tr tstzrange, nmr nummultirange,
    ip inet, ci cidr, ma macaddr, mo money, bi bit(4), vb varbit, o oid, pt point, tsv tsvector, rc regclass, lsn pg_lsn,
    dm price, dc code, df fee, ds stamp
);
INSERT INTO everything (id) VALUES (0);
INSERT INTO everything VALUES (
    1, -32768, -2147483648, -9223372036854775808, true, 'NaN', '-Infinity',
    'NaN', -9999999999999.99, 1e47, '0.00000000000000000000000000000000000001', '-99999999999999999999999999999999999999', 99900, 0.00099, '0.0000000001',
    'a,b~c', 'v ', '', 'ab', 'xy  ', 'nämé', 'q', '\x00ff',
    '0001-01-01 BC', '4713-01-01 00:00:00 BC', '4713-01-01 00:00:00+00 BC', '1500-02-28 23:59:59.4', '24:00', '23:59:59.999999-12', '-1 year -2 mons 3 days 04:05:06.789',
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a": 1,  "a":2}', '{"a": 1,  "b":2}', 'sad', '{1,NULL,3}', '{{a,"b,c"},{NULL,"\"q\""}}', '{NaN,0.1,-Infinity}', '{2020-01-01,infinity}', '(1,"x,y")', '[1,5)', '[2020-01-01,)', '{[1,2],[5,)}',
    '10.0.0.1/8', '10.0.0.0/8', '08:00:2b:01:02:03', '-1234.56', '1010', '101', 4294967295, '(1,2)', 'fat cat', 'pg_class', '16/B374D848',
    12.5, 'ab', 1.25, '1969-12-31 23:59:59.999999+00'
);
INSERT INTO everything VALUES (
    2, 32767, 2147483647, 9223372036854775807, false, 1.4e-45, 5e-324,
    '1e-30', 9999999999999.99, -1e47, '-0.99999999999999999999999999999999999999', '99999999999999999999999999999999999999', -99900, -0.00099, '-9999999999999999999999999999.9999999999',
    '', 'ünïcode 😀', E'tab\tnl\n', 'abcde', '', 'x', E'\\001', '',
    '5874897-12-31', '294246-12-31 23:59:59.999999', '294247-01-10 04:00:54.775806+00', '9999-12-31 23:59:59.6', '00:00', '00:00+14', '178000000 years',
    '00000000-0000-0000-0000-000000000000', 'null', 'null', 'happy', '{}', '{}', '{}', '{}', '(,)', 'empty', '(,)', '{}',
    '::1/128', '::/0', 'ff:ff:ff:ff:ff:ff', '92233720368547758.07', '0000', '', 0, '(NaN,Infinity)', '', '0', '0/0',
    -0.01, '', -1.25, '10000-01-01+00'
);
INSERT INTO everything (id, f4, f8) VALUES
    (3, '-0', '-0'), (4, 1.1754944e-38, 2.2250738585072014e-308), (5, 1, 1), (6, 3.4028235e38, 1.7976931348623157e308), (7, 'Infinity', 'NaN'), (8, 0.1, 0.1);
INSERT INTO everything (id, f4, f8, d, ts, tsz)
    SELECT 10 + g, ((g * 0.7318) * power(10, g % 36))::float4, (g * 0.7318) * power(10.0, g - 150), '0001-01-01'::date + g * 9999,
           '1500-01-01'::timestamp + g * interval '1.000001 day', '1883-11-18'::timestamptz + g * interval '333.123457 hours'
    FROM generate_series(1, 300) AS g;

CREATE TABLE unholdable (id int PRIMARY KEY, n numeric(5,2), d date, ts timestamp, tsz timestamptz, v text);
INSERT INTO unholdable VALUES
    (1, 'NaN', NULL, NULL, NULL, 'x"y\'), (2, 1, 'infinity', NULL, NULL, NULL), (3, 1, '-infinity', NULL, NULL, 'a'), (4, 1, NULL, 'infinity', NULL, 'b'),
    (5, 2, NULL, '294247-01-10 04:00:54.775807', NULL, 'c'), (6, NULL, NULL, NULL, '-infinity', 'd'), (7, 1, '2020-01-01', '2020-01-01', '2020-01-01', 'fine');
