import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { isObject } from '../../src/kernel/json.ts';
import { type Exchange, parsed } from './exchange.ts';
import { readCassette } from './read-cassette.ts';
import { readFixture } from './read-fixture.ts';
import { readHar } from './read-har.ts';

/** Larger files hold videos, which no conversation is about. */
const fileBytesMax = 64 * 1024 * 1024;
const names = /\.(ya?ml|har|json|jsonl|ndjson|sse|txt)$/i;

/** A file that could not be read as what its name says. */
export interface Unreadable {
  file: string;
  why: string;
}

/** Every exchange below a folder, file by file, in the order of their names. */
export function* readFolder(folder: string, onUnreadable: (one: Unreadable) => void): Generator<Exchange> {
  for (const path of filesBelow(folder)) {
    const from = relative(folder, path);
    try {
      yield* readFile(from, readFileSync(path, 'utf8'));
    } catch (error) {
      onUnreadable({ file: from, why: error instanceof Error ? error.message : String(error) });
    }
  }
}

function readFile(from: string, text: string): Exchange[] {
  if (/\.ya?ml$/i.test(from)) return readCassette(from, text);
  const value = /\.(har|json)$/i.test(from) ? parsed(text) : undefined;
  if (isObject(value) && isObject(value.log)) return readHar(from, value);
  if (isObject(value) && (value.interactions ?? value.http_interactions) !== undefined) return readCassette(from, text);
  return readFixture(from, text);
}

function* filesBelow(folder: string): Generator<string> {
  const entries = readdirSync(folder, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== '.git' && entry.name !== 'node_modules') yield* filesBelow(path);
    } else if (entry.isFile() && names.test(entry.name) && statSync(path).size <= fileBytesMax) yield path;
  }
}
