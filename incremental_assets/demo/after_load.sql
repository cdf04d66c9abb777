-- What only costs time during the load: keys, the cursors' indexes, and the trigger that stamps what changes from now on.
ALTER TABLE region   ADD PRIMARY KEY (r_regionkey);
ALTER TABLE nation   ADD PRIMARY KEY (n_nationkey);
ALTER TABLE supplier ADD PRIMARY KEY (s_suppkey);
ALTER TABLE customer ADD PRIMARY KEY (c_custkey);
ALTER TABLE part     ADD PRIMARY KEY (p_partkey);
ALTER TABLE partsupp ADD PRIMARY KEY (ps_partkey, ps_suppkey);
ALTER TABLE orders   ADD PRIMARY KEY (o_orderkey);
ALTER TABLE lineitem ADD PRIMARY KEY (l_orderkey, l_linenumber);

CREATE INDEX ON supplier (updated_at);
CREATE INDEX ON customer (updated_at);
CREATE INDEX ON part     (updated_at);
CREATE INDEX ON partsupp (updated_at);
CREATE INDEX ON orders   (updated_at);
CREATE INDEX ON lineitem (updated_at);

ALTER TABLE supplier ALTER updated_at SET DEFAULT now();
ALTER TABLE customer ALTER updated_at SET DEFAULT now();
ALTER TABLE part     ALTER updated_at SET DEFAULT now();
ALTER TABLE partsupp ALTER updated_at SET DEFAULT now();
ALTER TABLE orders   ALTER updated_at SET DEFAULT now();
ALTER TABLE lineitem ALTER updated_at SET DEFAULT now();

-- now() is the time of BEGIN, as nearly every application's stamp is: a transaction may commit long after its stamp.
CREATE FUNCTION stamp_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at := now();
    RETURN NEW;
END $$;

CREATE TRIGGER stamp BEFORE UPDATE ON supplier FOR EACH ROW EXECUTE FUNCTION stamp_update();
CREATE TRIGGER stamp BEFORE UPDATE ON customer FOR EACH ROW EXECUTE FUNCTION stamp_update();
CREATE TRIGGER stamp BEFORE UPDATE ON part     FOR EACH ROW EXECUTE FUNCTION stamp_update();
CREATE TRIGGER stamp BEFORE UPDATE ON partsupp FOR EACH ROW EXECUTE FUNCTION stamp_update();
CREATE TRIGGER stamp BEFORE UPDATE ON orders   FOR EACH ROW EXECUTE FUNCTION stamp_update();
CREATE TRIGGER stamp BEFORE UPDATE ON lineitem FOR EACH ROW EXECUTE FUNCTION stamp_update();
