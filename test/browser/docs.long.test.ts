import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { chromiumMissing } from '../chromium.ts';
import { pages, root } from '../docs/snippets.ts';
import { startGateway } from '../start-gateway.ts';
import { assertLooksRight, openPage } from './open-page.ts';

const skip = chromiumMissing;
const gateway = await startGateway({ after: after as never }, {});
const names = pages.flatMap((page) => /^docs\/([\w-]+)\.md$/.exec(page)?.[1] ?? []);

test('no page has a script or a style in it, or loads anything from elsewhere', { skip }, () => {
  for (const name of names) {
    const html = readFileSync(join(root, 'web/dist/docs', `${name === 'README' ? 'index' : name}.html`), 'utf8');
    assert.doesNotMatch(html, /<script(?![^>]* src=)[^>]*>|<style|\sstyle="|\son\w+="/, name);
    assert.doesNotMatch(html, /(?:src|<link[^>]*href)="(?:https?:)?\/\//, name);
  }
});

test('an error leads to its entry, from which a search leads on', { skip }, async (t) => {
  const { error } = (await (await gateway.fetch('/v1/nothing')).json()) as { error: { doc_url: string } };
  const page = await openPage(t, gateway, error.doc_url, { login: null, refusals: 'faults' });
  await page.getByRole('heading', { name: 'not-found' }).waitFor();
  await page.getByRole('button', { name: 'Search' }).first().click();
  await page.locator('#localsearch-input').fill('idempotency');
  await page.locator('#localsearch-list a').first().click();
  await page.getByRole('heading', { level: 1, name: /Idempotency/ }).waitFor();
});

test('pages can be read by everybody, on a phone too, light and dark', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/docs/', { login: null, refusals: 'faults' });
  for (const name of ['', 'configuration', 'routing']) {
    await page.goto(`/docs/${name}`);
    await assertLooksRight(page, `docs-${name || 'index'}`);
  }
});
