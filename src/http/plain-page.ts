import { sendWhole } from '../inference/spine/sink.ts';
import type { Exchange } from './exchange.ts';
import { pageHeaders } from './static-files.ts';

export interface PlainPage {
  status: number;
  title: string;
  message: string;
  links: readonly { to: string; text: string }[];
}

/** A page for a user whose browser came back from another site. Texts are escaped. */
export function sendPlainPage({ client }: Exchange, { status, title, message, links }: PlainPage): void {
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<p>${escaped(message)}</p>
${links.map(({ to, text }) => `<p><a href="${escaped(to)}">${escaped(text)}</a></p>\n`).join('')}</html>
`;
  const headers = [...pageHeaders, 'content-type', 'text/html; charset=utf-8', 'cache-control', 'no-store'];
  sendWhole(client, headers, html, status);
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
