import { createRequire } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { scratchFolder } from '../gateway/processes.ts';
import type { Engine } from './engine.ts';
import { dimensions, groups } from './points.ts';

/** Installed in this folder alone: npm install, then npm rebuild hnswlib-node. */
const require = createRequire(import.meta.url);

interface Hnsw {
  initIndex(elementsMax: number, m: number, efConstruction: number, seed: number): void;
  setEf(ef: number): void;
  addPoint(vector: number[], label: number): void;
  searchKnn(query: number[], k: number, filter?: (label: number) => boolean): { neighbors: number[] };
}

function installed<T>(name: string): T {
  try {
    return require(name) as T;
  } catch {
    console.error(`${name} is not there: npm install && npm rebuild hnswlib-node in bench/vectors first.`);
    process.exit(2);
  }
}

/** sqlite-vec as its documentation has it, with the payload in the same row and every commit synced. */
export function openSqliteVec(): Engine {
  const sqliteVec = installed<{ load(database: DatabaseSync): void }>('sqlite-vec');
  const database = new DatabaseSync(join(scratchFolder(), 'vec.db'), { allowExtension: true });
  sqliteVec.load(database);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE VIRTUAL TABLE point USING vec0(
      id INTEGER PRIMARY KEY, vector FLOAT[${dimensions}] distance_metric=cosine, +payload TEXT)`);
  const insert = database.prepare('INSERT INTO point (id, vector, payload) VALUES (?, ?, ?)');
  const nearest = database.prepare('SELECT id FROM point WHERE vector MATCH ? AND k = ? ORDER BY distance');
  return {
    name: 'sqlite-vec',
    write(from, vectors, payloads) {
      database.exec('BEGIN');
      for (const [row, payload] of payloads.entries()) {
        const vector = vectors.subarray(row * dimensions, (row + 1) * dimensions);
        insert.run(BigInt(from + row), bytesOf(vector), payload);
      }
      database.exec('COMMIT');
    },
    search: (query, k) => nearest.all(bytesOf(query), k).map(({ id }) => Number(id)),
    close: () => database.close(),
  };
}

/** hnswlib-node raw: vectors in memory, nothing durable, a filter is a callback. */
export function openHnsw(elementsMax: number): Engine {
  const { HierarchicalNSW } = installed<{ HierarchicalNSW: new (space: 'cosine', size: number) => Hnsw }>(
    'hnswlib-node',
  );
  const index = new HierarchicalNSW('cosine', dimensions);
  index.initIndex(elementsMax, 16, 200, 100);
  index.setEf(100);
  return {
    name: 'hnswlib-node',
    write(from, vectors, payloads) {
      for (const row of payloads.keys())
        index.addPoint(Array.from(vectors.subarray(row * dimensions, (row + 1) * dimensions)), from + row);
    },
    search: (query, k, group) =>
      index.searchKnn(Array.from(query), k, group === null ? undefined : (label) => label % groups === group).neighbors,
    close: () => undefined,
  };
}

function bytesOf(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}
