CREATE FUNCTION stepadv_internal.drop_kept(attachment regclass) RETURNS void LANGUAGE sql AS 'SELECT';
