import { readFileSync } from 'node:fs';

/** Sections of docs/README.md with their pages, in order: the table of contents on GitHub is the site's, too. */
export function sections() {
  const text = readFileSync(new URL('../../../docs/README.md', import.meta.url), 'utf8');
  return text
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      title: section.split('\n', 1)[0],
      pages: [...section.matchAll(/^- \[([^\]]+)\]\(([\w-]+)\.md\)/gm)].map(([, title, page]) => ({ title, page })),
    }));
}
