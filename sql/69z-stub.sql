CREATE FUNCTION stepadv_internal.drop_kept(attachment regclass) RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp AS 'SELECT';
COMMENT ON FUNCTION stepadv_internal.drop_kept(regclass) IS 'part of detach';
