import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { textsOf } from './messages.ts';
import { ownWords } from './plain-english.ts';
import { remembered } from './remembered.ts';
import { root } from './snippets.ts';

/*
 * Sentences that readers stumbled over, and their like: nowhere in what people read, which is each page, and each text of
 * the server, the command line, OpenAPI and the dashboard, also where it is no whole sentence.
 */

const mended: readonly (readonly [stumbled: RegExp, instead: string])[] = [
  [/nobody can make up/i, 'cannot be simulated'],
  [/\btru(?:e|ly) roll(?:ing)?\b/i, 'rolling windows'],
  [/\bat one time\b/i, 'concurrent'],
  [/\b(?:named?|any|of) what you like\b/i, 'any letters or digits'],
  [/everything of other accounts|does not exist for this operator/i, 'cannot see other accounts'],
  [/\bis (?:therefore )?no news\b/i, 'does not notify twice'],
  [/\b(?:exits|ends) with [012]\b(?! status)/i, 'exits with status 1'],
  [/may be over by then/i, 'may have expired'],
  [/(?<!\*)\bwins\b/i, 'takes precedence'],
  [/\b(?:goes|go) on with the trace\b/i, 'continues the trace'],
  [/\bwhom no \w+ fits\b|\bno line fits\b/i, 'users who match no rule are denied'],
  [/\bmost bytes of\b/i, 'maximum size'],
  [/\bis (?:not )?of one instant\b/i, 'is not a snapshot'],
  [/\bfrees in\b/i, 'available again in'],
];

/** Entries of released versions keep the words that they were written in. */
const pages = globSync(['*.md', '{docs,deploy,bench}/**/*.md'], { cwd: root }).filter(
  (file) => file !== 'CHANGELOG.md',
);
const sources = globSync(['src/**/*.ts', 'web/{src,docs}/**/*.{ts,tsx}'], { cwd: root }).filter(
  (file) => !/\.(?:test|fixture)\.ts$|node_modules|\/\.vitepress\/(?:cache|dist)\//.test(file),
);

/** Statements of databases, scripts of Redis and lists of words are no prose. */
const unread = /^src\/stores\/|\/(?:asides|lua-\w+)\.ts$/;
/** Marks of the two kinds among what is found in sources. */
const [isStumbled, isOwn] = ['a sentence: ', 'a word: '] as const;

function stumbledIn(file: string, text: string): string[] {
  return mended.flatMap(([stumbled, instead]) => {
    const [words] = stumbled.exec(text) ?? [];
    return words === undefined ? [] : [`${isStumbled}${file}: '${words}' → ${instead}: ${text.slice(0, 200)}`];
  });
}

function ownWordIn(file: string, text: string): string[] {
  const [word] = unread.test(file) ? [] : (ownWords.exec(text) ?? []);
  return word === undefined ? [] : [`${isOwn}${file}: '${word}': ${text.slice(0, 200)}`];
}

const { find, keep } = remembered('mended-sentences', (file) =>
  textsOf(file).flatMap((text) => [...stumbledIn(file, text), ...ownWordIn(file, text)]),
);
const inSources = sources.flatMap(find);
keep();

test('sentences that readers stumbled over are nowhere, and neither are their like', () => {
  assert.ok(pages.length > 100 && sources.length > 1_500, `${pages.length} pages, ${sources.length} sources`);
  const inPages = pages.flatMap((file) =>
    stumbledIn(file, readFileSync(`${root}/${file}`, 'utf8').replace(/\s+/g, ' ')),
  );
  assert.deepEqual([...inPages, ...inSources.filter((one) => one.startsWith(isStumbled))], []);
});

test('labels, hints and fragments have no words of a private language either', () => {
  assert.deepEqual(
    inSources.filter((one) => one.startsWith(isOwn)),
    [],
  );
});
