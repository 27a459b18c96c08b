import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { decodePage } from '../../src/tools/extract/decode-page.ts';

/** A page with what people have found in it. */
export interface LabelledPage {
  name: string;
  url: string;
  html: string;
  label: Label;
  /** Rules are made by looking at one half, and judged by the other. */
  half: 'tuned' | 'held out';
}

/** The whole text, or pieces that belong to it and pieces that do not. */
export type Label =
  | { kind: 'text'; text: string }
  | { kind: 'pieces'; wanted: readonly string[]; unwanted: readonly string[] };

/**
 * `folder` holds `ground-truth.json` ({name: {articleBody, url?}}) and `html/NAME.html.gz`, as Zyte's benchmark does, or
 * `evaldata.json` ({url: {file, with, without}}) with its files in `cache/` and `eval/`, as trafilatura's does.
 */
export function readPages(folder: string): Generator<LabelledPage> {
  return existsSync(join(folder, 'evaldata.json')) ? pagesWithPieces(folder) : pagesWithTexts(folder);
}

function* pagesWithTexts(folder: string): Generator<LabelledPage> {
  const truth = readJson<{ articleBody?: string; url?: string }>(folder, 'ground-truth.json');
  for (const [name, { articleBody: text = '', url = 'https://example.org/' }] of Object.entries(truth)) {
    const html = gunzipSync(readFileSync(join(folder, 'html', `${name}.html.gz`))).toString('utf8');
    yield { name, url, html, label: { kind: 'text', text }, half: halfOf(name) };
  }
}

function* pagesWithPieces(folder: string): Generator<LabelledPage> {
  const truth = readJson<{ file: string; with: string[]; without: string[] }>(folder, 'evaldata.json');
  for (const [url, { file: name, with: wanted, without: unwanted }] of Object.entries(truth)) {
    const path = ['cache', 'eval'].map((place) => join(folder, place, name)).find(existsSync);
    if (path === undefined) throw new Error(`${name} is missing in ${folder}.`);
    const html = decodePage(new Uint8Array(readFileSync(path)), 'text/html');
    yield { name, url, html, label: { kind: 'pieces', wanted, unwanted }, half: halfOf(name) };
  }
}

function readJson<T>(folder: string, name: string): Record<string, T> {
  return JSON.parse(readFileSync(join(folder, name), 'utf8')) as Record<string, T>;
}

function halfOf(name: string): LabelledPage['half'] {
  return createHash('sha256').update(name).digest()[0]! % 2 === 0 ? 'tuned' : 'held out';
}
