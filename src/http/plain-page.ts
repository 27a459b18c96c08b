import { hash } from 'node:crypto';
import { sendWhole } from '../inference/spine/sink.ts';
import type { Exchange } from './exchange.ts';
import { linkFrom } from './link-base.ts';
import { pageHeaders } from './static-files.ts';

export interface PlainPage {
  status: number;
  title: string;
  message: string;
  links: readonly { to: string; text: string }[];
}

/** Style of pages that need none of the dashboard's files, in the scheme of the reader. */
export const plainStyle = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 44rem; margin: 3rem auto; padding: 0 1rem }
h1 { font-size: 1.25rem }
pre { overflow-x: auto; padding: .75rem 1rem; border: 1px solid #8886; border-radius: 6px }
code { font-family: ui-monospace, monospace; font-size: .9em }
`;

/** Source of that style, for a content security policy. */
export const plainStyleSource = `'sha256-${hash('sha256', plainStyle, 'base64')}'`;

/** A page for a user whose browser came back from another site. Texts are escaped; links may be places of this server. */
export function sendPlainPage({ client, path }: Exchange, { status, title, message, links }: PlainPage): void {
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>${plainStyle}</style>
<h1>${escaped(title)}</h1>
<p>${escaped(message)}</p>
${links.map(({ to, text }) => `<p><a href="${escaped(to.startsWith('/') ? linkFrom(path, to) : to)}">${escaped(text)}</a></p>\n`).join('')}</html>
`;
  const policy = pageHeaders.map((text) => text.replace("style-src 'self'", `style-src ${plainStyleSource}`));
  const headers = [...policy, 'content-type', 'text/html; charset=utf-8', 'cache-control', 'no-store'];
  sendWhole(client, headers, html, status);
}

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
