import { createHash } from 'node:crypto';
import { copyFileSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformerStyleToClass } from '@shikijs/transformers';
import { defineConfig } from 'vitepress';
import { sections } from './sections.mjs';

/*
 * The site of docs/*.md, which is readable on GitHub too. The server allows no inline script and no inline style, so both
 * are moved into files here.
 */

const base = '/docs/';
const colours = transformerStyleToClass({ classPrefix: 'code-' });
/** Inline scripts of the theme by the name of the file that they become. */
const scripts = new Map();

export default defineConfig({
  srcDir: '../../docs',
  base,
  title: 'Culvert',
  description: 'One server, one key: inference, vectors and web tools over every AI provider.',
  lang: 'en',
  head: [['link', { rel: 'icon', href: `${base}favicon.svg` }]],
  cleanUrls: true,
  metaChunk: true,
  srcExclude: ['design/**'],
  rewrites: { 'README.md': 'index.md' },
  // Otherwise the switch of the theme writes a style element.
  appearance: { disableTransition: false },
  themeConfig: {
    search: { provider: 'local' },
    outline: { level: [2, 3] },
    sidebar: sections().map(({ title, pages }) => ({
      text: title,
      items: pages.map(({ title: text, page }) => ({ text, link: `/${page}` })),
    })),
    nav: [{ text: 'Dashboard', link: '/dashboard', target: '_self' }],
  },
  markdown: {
    anchor: { slugify: githubSlug },
    codeTransformers: process.argv.includes('dev') ? [] : [colours],
    config(md) {
      md.core.ruler.push('links out of docs/', plainLinks);
    },
  },
  vite: { plugins: [{ name: 'base of the page', enforce: 'pre', transform: withBaseOfPage }] },
  transformHtml(html) {
    return html
      .replace(/<script id="([\w-]+)">([\s\S]*?)<\/script>/g, (_whole, id, code) => {
        const name = `assets/${id}.${createHash('sha256').update(code).digest('hex').slice(0, 8)}.js`;
        scripts.set(name, code);
        return `<script src="${base}${name}"></script>`;
      })
      .replace(/ style="[^"]*"/g, '');
  },
  buildEnd({ outDir }) {
    mkdirSync(join(outDir, 'assets'), { recursive: true });
    copyFileSync(new URL('../../public/favicon.svg', import.meta.url), join(outDir, 'favicon.svg'));
    for (const [name, code] of scripts) writeFileSync(join(outDir, name), code);
    const [style] = globSync('assets/style.*.css', { cwd: outDir });
    const text = readFileSync(join(outDir, style), 'utf8');
    writeFileSync(join(outDir, style), `${text}\n${colours.getCSS()}`);
  },
});

/**
 * Scripts find a page by the base that the server writes into the metadata, since it may be below a path. VitePress compiles
 * the length of its base into them.
 */
function withBaseOfPage(code, id) {
  if (!/vitepress\/dist\/client\/app\/utils\.js$/.test(id)) return null;
  return code.replace('const base = import.meta.env.BASE_URL', 'const base = siteDataRef.value.base');
}

/** Anchors as GitHub makes them, so that one link serves both. */
function githubSlug(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
}

/** Files outside of docs/ have no page: what links to them shows their name alone. */
function plainLinks({ tokens }) {
  for (const { children } of tokens) {
    for (const [at, token] of (children ?? []).entries()) {
      if (token.type !== 'link_open' || !/^(?:\.\.|design)\//.test(token.attrGet('href'))) continue;
      const close = children.findIndex(({ type }, index) => index > at && type === 'link_close');
      for (const one of [token, children[close]]) Object.assign(one, { tag: 'span', attrs: null });
    }
  }
}
