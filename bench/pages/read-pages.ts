import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** A page with the text that people found in it. */
export interface LabelledPage {
  name: string;
  url: string;
  html: string;
  text: string;
  /** Rules are made by looking at one half, and judged by the other. */
  half: 'tuned' | 'held out';
}

/** `folder` holds `ground-truth.json` ({name: {articleBody, url?}}) and `html/NAME.html.gz`, as Zyte's benchmark does. */
export function* readPages(folder: string): Generator<LabelledPage> {
  const truth = JSON.parse(readFileSync(join(folder, 'ground-truth.json'), 'utf8')) as Record<
    string,
    { articleBody?: string; url?: string }
  >;
  for (const [name, { articleBody = '', url = 'https://example.org/' }] of Object.entries(truth)) {
    const html = gunzipSync(readFileSync(join(folder, 'html', `${name}.html.gz`))).toString('utf8');
    yield { name, url, html, text: articleBody, half: halfOf(name) };
  }
}

function halfOf(name: string): LabelledPage['half'] {
  return createHash('sha256').update(name).digest()[0]! % 2 === 0 ? 'tuned' : 'held out';
}
