import type { Config } from '../../../config/schema.ts';
import { sendWhole } from '../../../inference/spine/sink.ts';
import { culvert } from '../../../kernel/command-form.ts';
import { type Exchange, headerOf } from '../../exchange.ts';
import { linkBaseOf, linkPathOf } from '../../link-base.ts';
import { escaped, plainStyle, plainStyleSource } from '../../plain-page.ts';
import { writeJson } from '../../write-json.ts';
import { qdrantApiVersion } from '../vectors.ts';

/**
 * `GET /`: browsers go on to the dashboard or, where there is none, see how to use this server; everybody else gets
 * JSON. It needs no key, so it shows nothing of models, keys or providers.
 */
export function writeFrontPage(
  exchange: Exchange,
  { version, dashboard }: { version: string; dashboard: boolean },
  server: Config['server'],
): void {
  const vary = ['vary', 'accept'];
  // Browsers name it; API clients send `application/json`, any type, or nothing.
  if (!/\btext\/html\b/i.test(headerOf(exchange, 'accept') ?? '')) {
    // Qdrant's client asks here and reads `version` as that of Qdrant's API.
    const title = { title: 'Culvert', version: qdrantApiVersion, culvert_version: version };
    return writeJson(exchange, 200, title, vary);
  }
  const path = linkPathOf(exchange.request, server);
  if (dashboard) {
    return sendWhole(exchange.client, [...vary, 'location', `${path || '.'}/dashboard`, ...plainText], '', 303);
  }
  const headers = [
    ...vary,
    'content-type',
    'text/html; charset=utf-8',
    'cache-control',
    'no-store',
    'x-content-type-options',
    'nosniff',
    'content-security-policy',
    `default-src 'none'; style-src ${plainStyleSource}; frame-ancestors 'none'`,
  ];
  sendWhole(exchange.client, headers, pageOf(escaped(linkBaseOf(exchange.request, server)), path, escaped(version)));
}

const plainText = ['content-type', 'text/plain; charset=utf-8', 'cache-control', 'no-store'];

function pageOf(url: string, path: string, version: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Culvert</title>
<style>${plainStyle}</style>
<h1>Culvert is running</h1>
<p>This is an inference gateway, version ${version}: one address and one key for OpenAI’s, Anthropic’s and Google’s API.</p>
<h2>Get a key</h2>
<p>The first start printed one, and keeps it in <code>api.key</code> of its data folder. The operator of this server makes
others:</p>
<pre><code>${culvert} keys create --account me --name laptop</code></pre>
<h2>Use it</h2>
<pre><code>export CULVERT_URL=${url}
export CULVERT_API_KEY=sk-cv-…

curl $CULVERT_URL/v1/models -H "Authorization: Bearer $CULVERT_API_KEY"</code></pre>
<p>OpenAI’s clients take <code>${url}/v1</code> as their base URL, Anthropic’s and Google’s <code>${url}</code>.</p>
<ul>
<li><a href="${path}/openapi.json">openapi.json</a>: every path</li>
<li><a href="${path}/readyz">readyz</a>: whether this server can answer</li>
</ul>
</html>
`;
}
