/** The longer statements of the crawl store. */

/** Under a lease: locked until the transaction ends. */
export const held = `SELECT page_limit, charged, ends FROM culvert.crawl
  WHERE id = $1 AND worker = $2 AND status = 'scraping' FOR UPDATE`;
export const running = `SELECT count(*)::integer AS count FROM culvert.crawl WHERE tenant = $1 AND status = 'scraping'`;
export const removeOldest = `
  DELETE FROM culvert.crawl WHERE id IN (
    SELECT id FROM culvert.crawl WHERE tenant = $1 AND status <> 'scraping'
    ORDER BY created_ms DESC, id DESC OFFSET $2)`;
export const insertCrawl = `
  INSERT INTO culvert.crawl (id, tenant, account, key_id, url, options, status, page_limit, rows, ends, done, failed,
    waiting, charged, seeded, lease_until_ms, created_ms)
  VALUES ($1, $2, $3, $4, $5, $6, 'scraping', $7, 0, 0, 0, 0, 0, 0, 0, 0, $8)`;
/** Replicas that ask at one moment get different ones. */
export const leaseFree = `
  UPDATE culvert.crawl SET worker = $1, lease_until_ms = $3 WHERE id IN (
    SELECT id FROM culvert.crawl AS one WHERE status = 'scraping' AND lease_until_ms <= $2
    ORDER BY (SELECT count(*) FROM culvert.crawl AS other WHERE other.tenant = one.tenant
      AND other.status = 'scraping' AND (other.lease_until_ms > $2
        OR (other.created_ms, other.id) < (one.created_ms, one.id))), created_ms, id LIMIT $4
    FOR UPDATE SKIP LOCKED
  ) RETURNING *`;
export const failPage = `
  UPDATE culvert.crawl_page SET state = 'failed', ended = $3, ended_ms = $4, code = $5, error = $6, charged = $7
  WHERE crawl = $1 AND seq = $2`;
export const countEnd = `
  UPDATE culvert.crawl SET ends = ends + $2, done = done + $3, failed = failed + $4, waiting = waiting - 1,
    charged = charged - $5 WHERE id = $1`;
/** One statement for all: the new links, in order, as many of a shape and in all as there is room for. */
export const addPages = `
  WITH given AS (
    SELECT sha256(convert_to(key, 'UTF8')) AS key_hash, url, depth, sha256(convert_to(shape, 'UTF8')) AS shape_hash, at
    FROM unnest($2::text[], $3::text[], $4::integer[], $5::text[]) WITH ORDINALITY AS g (key, url, depth, shape, at)
  ), fresh AS (
    SELECT DISTINCT ON (key_hash) * FROM given
    WHERE NOT EXISTS (SELECT FROM culvert.crawl_page p WHERE p.crawl = $1 AND p.key_hash = given.key_hash)
    ORDER BY key_hash, at
  ), fitting AS (
    SELECT *, row_number() OVER (ORDER BY at) AS nth FROM (
      SELECT *, row_number() OVER (PARTITION BY shape_hash ORDER BY at) AS of_shape FROM fresh
    ) AS shaped
    WHERE shape_hash IS NULL OR of_shape + (
      SELECT count(*) FROM culvert.crawl_page p WHERE p.crawl = $1 AND p.shape_hash = shaped.shape_hash) <= $7
  ), added AS (
    INSERT INTO culvert.crawl_page (crawl, seq, key_hash, url, depth, shape_hash, state, charged)
    SELECT $1, c.rows + nth, key_hash, fitting.url, depth, shape_hash, 'waiting', 0
    FROM fitting, culvert.crawl c WHERE c.id = $1 AND c.rows + nth <= $6
    RETURNING 1
  )
  UPDATE culvert.crawl SET rows = rows + (SELECT count(*) FROM added)::integer,
    waiting = waiting + (SELECT count(*) FROM added)::integer WHERE id = $1`;
export const addAlias = `
  WITH added AS (
    INSERT INTO culvert.crawl_page (crawl, seq, key_hash, url, depth, state, charged)
    SELECT $1, c.rows + 1, sha256(convert_to($2, 'UTF8')), '', 0, 'alias', 0 FROM culvert.crawl c WHERE c.id = $1
    ON CONFLICT DO NOTHING RETURNING 1
  )
  UPDATE culvert.crawl SET rows = rows + (SELECT count(*) FROM added)::integer WHERE id = $1`;
export const leaseHooks = `
  WITH placed AS MATERIALIZED (
    SELECT h.id, h.created_ms, row_number() OVER (PARTITION BY c.tenant ORDER BY h.created_ms, h.id) AS place
    FROM culvert.crawl_hook h JOIN culvert.crawl c ON c.id = h.crawl
    WHERE next_ms <= $1 AND c.tenant <> ALL($4)
  )
  UPDATE culvert.crawl_hook h SET next_ms = $2 FROM culvert.crawl c
  WHERE c.id = h.crawl AND h.id IN (
    SELECT due.id FROM culvert.crawl_hook due JOIN placed ON placed.id = due.id
    WHERE due.next_ms <= $1 AND placed.place <= $3
    ORDER BY placed.place, placed.created_ms, placed.id LIMIT $5 FOR UPDATE OF due SKIP LOCKED
  ) RETURNING h.id, h.crawl, c.tenant, h.body, h.created_ms, h.tries, c.options`;
