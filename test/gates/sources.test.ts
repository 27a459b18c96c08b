import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Room, roomOf, rooms } from '../rooms.ts';
import { gate } from './ratchet.ts';
import { readSources, type Sources } from './sources.ts';

const list = (places: readonly string[]) => `Now:\n  ${places.join('\n  ')}`;

gate(
  'sources',
  readSources,
  {
    // In steps, so that not every change meets them.
    'lines without tests, up to the next 500': ({ lines }) => Math.ceil(lines / 500) * 500,
    // Rooms within it are rooms of their own.
    'lines of the largest room, up to the next 500': ({ roomLines }) =>
      Math.ceil(Math.max(...roomLines.values()) / 500) * 500,
    'lines of main/, up to the next 50': ({ mainLines }) => Math.ceil(mainLines / 50) * 50,
    'calls of admission.reserve': ({ reserveCalls }) => reserveCalls.length,
    'calls of admission.settle': ({ settleCalls }) => settleCalls.length,
    'calls of setInterval besides kernel/every': ({ intervals }) => intervals.length,
    'functions above 70 lines': ({ longFunctions }) => longFunctions.length,
    'double casts': ({ doubleCasts }) => doubleCasts.length,
    'non-null assertions': ({ nonNullAssertions }) => nonNullAssertions,
    "failures: 'kind' in x": ({ kindQuestions }) => kindQuestions.length,
    'failures: { ok: false, failure }': ({ failureResults }) => failureResults.length,
    'failures: new FailureError': ({ failureErrors }) => failureErrors.length,
    'names of a private language': ({ privateNames }) => privateNames.length,
    'circles of imports, types too': ({ circles }) => circles.length,
    '… across rooms': ({ circles }) => circles.filter(crossesRooms).length,
  } satisfies Record<string, (sources: Sources) => number>,
  {
    'lines of the largest room, up to the next 500': ({ roomLines }) =>
      list(
        [...roomLines]
          .sort(([, a], [, b]) => b - a)
          .slice(0, 3)
          .map(([path, lines]) => `${path}: ${lines}`),
      ),
    'calls of admission.reserve': ({ reserveCalls }) => list(reserveCalls),
    'calls of admission.settle': ({ settleCalls }) => list(settleCalls),
    'calls of setInterval besides kernel/every': ({ intervals }) => list(intervals),
    'functions above 70 lines': ({ longFunctions }) => list(longFunctions),
    'double casts': ({ doubleCasts }) => list(doubleCasts),
    "failures: 'kind' in x": ({ kindQuestions }) => list(kindQuestions),
    'failures: { ok: false, failure }': ({ failureResults }) => list(failureResults),
    'names of a private language': ({ privateNames }) => list(privateNames),
    'circles of imports, types too': ({ circles }) => list(circles.map((files) => files.join(' ↔ '))),
    '… across rooms': ({ circles }) => list(circles.filter(crossesRooms).map((files) => files.join(' ↔ '))),
  },
);

gate(
  'rooms',
  () => rooms,
  { 'arrows upward, of types': (all) => all.flatMap(upward).length },
  {
    'arrows upward, of types': (all) => list(all.flatMap(upward)),
  },
);

gate('stores', () => globSync('src/stores/{sqlite,postgres}/**/*.ts').filter((file) => !file.endsWith('.test.ts')), {
  'files of sqlite and postgres': (files) => files.length,
});

gate(
  'folders',
  () => {
    const sources = globSync('{src,web/src}/**/*.{ts,tsx}').filter((file) => !/\.(test|fixture)\.ts$/.test(file));
    // Services are alike: a file each.
    const folders = Map.groupBy(sources, dirname);
    folders.delete('src/formats/providers/services');
    return [...folders].map(([path, { length }]) => ({ path, length })).sort((a, b) => b.length - a.length);
  },
  { 'sources in the largest one': ([largest]) => largest?.length ?? 0 },
  {
    'sources in the largest one': (folders) =>
      list(folders.slice(0, 3).map(({ path, length }) => `${path}: ${length}`)),
  },
);

interface LockedPackage {
  dev?: boolean;
  devOptional?: boolean;
  link?: boolean;
}

gate(
  'packages',
  () => JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, LockedPackage> },
  {
    // Of every platform: more than one machine installs.
    'that a start may install': ({ packages }) =>
      Object.entries(packages).filter(
        ([path, { dev, devOptional, link }]) =>
          path.startsWith('node_modules/') && dev !== true && devOptional !== true && link !== true,
      ).length,
  },
);

function crossesRooms(files: readonly string[]): boolean {
  return new Set(files.map(roomOf)).size > 1;
}

/** Rooms whose types this one imports though they import it. */
function upward({ path, typesOnly = [] }: Room): string[] {
  return typesOnly.filter((other) => reaches(other, path)).map((other) => `${path} → ${other}`);
}

function reaches(from: string, to: string): boolean {
  return rooms
    .filter(({ path }) => path === from)
    .some(({ mayImport }) => mayImport.includes(to) || mayImport.some((next) => reaches(next, to)));
}
