import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { root, snippetsOf } from './snippets.ts';

/* What operators and those who compare look for: each page has it, at its place. */

const read = (file: string) => readFileSync(`${root}/${file}`, 'utf8');
/** Cells of the rows of all tables, each row by its first cell. */
const rowsOf = (text: string) =>
  new Map(
    [...text.matchAll(/^\| (.+) \|$/gm)].map(([, row]) => {
      const cells = row!.split(' | ').map((cell) => cell.trim());
      return [cells[0]!, cells.slice(1)] as const;
    }),
  );

test('the comparison names each peer, and gives what is open in them', () => {
  const page = read('docs/comparison.md');
  const rows = rowsOf(page);
  for (const peer of ['Busbar', 'agentgateway', 'GoModel', 'AISIX', 'Kong AI Gateway', 'OpenRouter']) {
    assert.equal(rows.get(peer)?.length, 2, peer);
  }
  const [, liteLlmFormats] = rows.get('formats for callers')!;
  assert.match(liteLlmFormats!, /Responses.*`\/messages`/);
  assert.match(rows.get('web tools (scrape, search, crawl)')![1]!, /`\/v1\/search`/);
  assert.match(rows.get('MCP')![2]!, /gateway/);
  assert.match(rows.get('prompt templates')![2]!, /repository/);
  assert.doesNotMatch(`${rows.get('MCP')![2]}${rows.get('prompt templates')![2]}`, /enterprise/);
});

test('figures of the comparison are of a measurement that bench/results.md has', () => {
  const results = read('bench/results.md').replaceAll(/(?<=\d)[,\u00a0 ](?=\d{3}\b)/g, '');
  const [, measured] = read('docs/comparison.md').split('\n## Figures\n');
  const figures = [...rowsOf(measured!.split('\n## ')[0]!)].filter(([name]) => !/callers$|^-/.test(name));
  assert.ok(figures.length >= 9, `${figures.length} rows`);
  for (const [name, cells] of figures) {
    for (const number of cells.flatMap((cell) => cell.replaceAll(',', '').match(/[\d.]+/g) ?? []))
      assert.match(results, new RegExp(`\\| +${number.replace('.', '\\.')} \\|`), `${name}: ${number}`);
  }
});

test('the list before real traffic goes in order, from the machine to a rehearsal, and the contents lead to it', () => {
  const steps = [...read('docs/production.md').matchAll(/^## (\d+)\. (.+)$/gm)].map(([, at, name]) => `${at} ${name}`);
  assert.deepEqual(steps, [
    '1 The machine',
    '2 The configuration',
    '3 Who may call',
    '4 The proxy in front',
    '5 What you watch',
    '6 Backups',
    '7 A rehearsal',
  ]);
  assert.match(read('docs/README.md'), /\]\(production\.md\)/);
});

test('each kind of alert has a row that says when it comes and what to do', () => {
  const [, alerts] = read('docs/notices.md').split('\n## Alerts\n');
  const rows = [...rowsOf(alerts!)].filter(([name]) => !/^(?:alert|-+)/.test(name));
  const names = rows.map(([name]) => name.replaceAll('`', '').split(' ')[0]);
  for (const kind of ['provider', 'model', 'budget', 'error', 'disk', 'mcp', 'sink', 'others']) {
    assert.ok(names.includes(kind), kind);
  }
  for (const [name, [when, what]] of rows) assert.ok(when!.length > 10 && what!.length > 10, name);
});

test('backups have a timer for systemd, Compose and Kubernetes', () => {
  const page = read('docs/backup.md').split('\n## A timer\n')[1]!;
  for (const place of ['systemd', 'Compose', 'Kubernetes'])
    assert.match(page, new RegExp(`^\\*\\*${place}\\.\\*\\*`, 'm'));
  assert.match(read('deploy/one-vm/culvert-backup.timer'), /^OnCalendar=/m);
  assert.match(read('deploy/one-vm/culvert-backup.service'), /culvert backup/);
  assert.match(page, /docker compose exec -T culvert culvert backup/);
  const kinds = snippetsOf('docs/backup.md')
    .filter(({ language }) => language === 'yaml')
    .flatMap(({ text }) => parseAllDocuments(text).map((document) => document.get('kind')));
  assert.ok(kinds.includes('CronJob'), String(kinds));
});

test('troubleshooting goes by the symptom, and each symptom has a cause and a remedy', () => {
  const page = read('docs/troubleshooting.md');
  const sections = [...page.matchAll(/^## (.+)$/gm)].map(([, name]) => name);
  for (const name of ['The server does not start', 'A request fails', 'Streams', 'It is slow', 'Numbers look wrong']) {
    assert.ok(sections.includes(name), name);
  }
  const rows = [...rowsOf(page)].filter(([name]) => !/^(?:symptom|-+)/.test(name));
  assert.ok(rows.length >= 25, String(rows.length));
  for (const [symptom, cells] of rows) {
    assert.equal(cells.length, 2, symptom);
    for (const cell of cells) assert.ok(cell.length > 5, `${symptom}: ${cell}`);
  }
});
