/** `count` different strings that would do harm in SQL built from text; all can stand in a header. */
export function scannedPayloads(count: number): string[] {
  const quotes = ["'", '"', '`', "')", "'))", "\\'", '%27'];
  const middles = [
    'OR 1=1',
    "OR 'a'='a",
    'UNION SELECT secret FROM keys',
    'UNION ALL SELECT NULL,NULL,NULL',
    '; DROP TABLE keys',
    "; UPDATE accounts SET status='active'",
    '; ATTACH DATABASE x AS y',
    'AND (SELECT count(*) FROM sqlite_master)>0',
    '|| (SELECT hash FROM keys LIMIT 1) ||',
    'OR SLEEP(5)',
    '; SELECT pg_sleep(5)',
    'ORDER BY 99',
    'LIKE %%%%',
    'GLOB *',
    'AND randomblob(1000000000)',
  ];
  const ends = ['--', '-- -', '#', '/*', ';', ''];
  const starts = ['sk-cv-', 'x', '', 'sk-cv-test-key-0001', '0', 'admin', '-1'];
  const all = starts.flatMap((start) =>
    quotes.flatMap((quote) =>
      middles.flatMap((middle) => ends.map((end) => `${start}${quote} ${middle} ${end}`.trim())),
    ),
  );
  return all.filter((_, i) => i % Math.floor(all.length / count) === 0).slice(0, count);
}
