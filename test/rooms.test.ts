import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { compositionFolder, compositionRoot, type Room, roomOf, rooms } from './rooms.ts';

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
}

const files = globSync('src/**/*.ts').filter((file) => !file.endsWith('.test.ts'));
const imports = files.flatMap(importsOf);

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  const found: Import[] = [];
  const statement = /^\s*(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'(\.[^']+)'|import\('(\.[^']+)'\)/gm;
  for (const [, typeOnly, specifier, dynamic] of text.matchAll(statement)) {
    const to = normalize(join(dirname(file), (specifier ?? dynamic) as string));
    found.push({ from: file, to, typeOnly: typeOnly !== undefined });
  }
  return found;
}

function reachable(room: Room, seen = new Set<string>()): Set<string> {
  for (const path of room.mayImport) {
    if (seen.has(path)) continue;
    seen.add(path);
    const next = rooms.find((other) => other.path === path);
    if (next !== undefined) reachable(next, seen);
  }
  return seen;
}

test('every source file lives in a room', () => {
  const homeless = files.filter(
    (file) => roomOf(file) === undefined && file !== compositionRoot && !file.startsWith(compositionFolder),
  );
  assert.deepEqual(homeless, []);
});

test('no room imports upwards (the table of design §4)', () => {
  const wrong = imports.filter(({ from, to, typeOnly }) => {
    const own = roomOf(from);
    const other = roomOf(to);
    if (own === undefined) return false;
    if (other === undefined) return true;
    if (other === own || reachable(own).has(other.path)) return false;
    return !(typeOnly && own.typesOnly?.includes(other.path));
  });
  assert.deepEqual(
    wrong.map(({ from, to }) => `${from} → ${to}`),
    [],
  );
});

test('no import cycles', () => {
  const edges = new Map<string, string[]>();
  for (const { from, to, typeOnly } of imports) if (!typeOnly) edges.set(from, [...(edges.get(from) ?? []), to]);
  const state = new Map<string, 'open' | 'done'>();
  const cycles: string[] = [];
  const visit = (file: string, trail: string[]): void => {
    if (state.get(file) === 'done') return;
    if (state.get(file) === 'open') {
      cycles.push([...trail.slice(trail.indexOf(file)), file].join(' → '));
      return;
    }
    state.set(file, 'open');
    for (const next of edges.get(file) ?? []) visit(next, [...trail, file]);
    state.set(file, 'done');
  };
  for (const file of files) visit(file, []);
  assert.deepEqual(cycles, []);
});

test('the table itself has no cycle', () => {
  for (const room of rooms) assert.ok(!reachable(room).has(room.path), `${room.path} reaches itself`);
});

test('the picture and the table of ARCHITECTURE.md have every room', () => {
  const text = readFileSync('ARCHITECTURE.md', 'utf8');
  const picture = new Set(text.split('```')[1]?.match(/[\w-]+/g));
  const unseen = rooms.filter(
    ({ path }) =>
      !path
        .split('/')
        .slice(1)
        .every((word) => picture.has(word)),
  );
  assert.deepEqual(
    unseen.map(({ path }) => path),
    [],
    'not in the picture',
  );
  // `inference/families/{pages,search}/` is two rooms.
  const listed = [...text.matchAll(/^\| `([a-z0-9/-]+)(?:\{([a-z0-9,-]+)\})?\/?` \|/gm)].flatMap(
    ([, path = '', names = '']) => names.split(',').map((name) => `src/${path}${name}`.replace(/\/$/, '')),
  );
  assert.deepEqual(
    rooms.map(({ path }) => path).filter((path) => !listed.includes(path)),
    [],
    'not in the table',
  );
});

test('direct runtime dependencies stay at 41 or fewer, every one pinned', () => {
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> };
  // With those that were listed with development until a start installed its own alone. The 38th, jose, came with others
  // before it was used here. The 39th reads CEL, which is too much to write and check ourselves. The 40th has the
  // numbering plans of all countries. The 41st verifies SAML: signatures of XML are a matter for those who do nothing else.
  assert.ok(Object.keys(dependencies).length <= 41);
  for (const [name, version] of Object.entries(dependencies))
    assert.match(version, /^\d/, `${name} is not an exact version`);
});
