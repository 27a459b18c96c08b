import type { Statement } from './statement-schema.ts';

/** A statement as a page to print: it loads nothing and runs nothing. */
export function statementPage(statement: Statement): string {
  const { month, time_zone: zone, status, closed_at, totals, data } = statement;
  const state = status === 'closed' ? `Closed ${(closed_at ?? '').slice(0, 10)}` : `Not closed (${status})`;
  const title = `Statement ${month}`;
  const about = `${text(zone)} · ${state}`;
  const all = data.map(({ account, name, ...sums }) => `<tr><td>${text(named(account, name))}</td>${cells(sums)}</tr>`);
  const sheets = data.map(
    ({ account, name, lines, ...sums }) => `<section><h1>${title}</h1><p>${text(named(account, name))} · ${about}</p>
<table><thead><tr><th>Model</th>${heads}</tr></thead>
<tbody>${lines.map(({ model, ...line }) => `<tr><td>${text(model === '' ? 'others' : model)}</td>${cells(line)}</tr>`).join('\n')}</tbody>
<tfoot><tr><td>Total</td>${cells(sums)}</tr></tfoot></table></section>`,
  );
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}, ${text(zone)}</title><style>${style}</style></head><body>
<section><h1>${title}</h1><p>All accounts · ${about}</p>
<table><thead><tr><th>Account</th>${heads}</tr></thead><tbody>${all.join('\n')}</tbody>
<tfoot><tr><td>Total</td>${cells(totals)}</tr></tfoot></table></section>
${sheets.join('\n')}
</body></html>`;
}

const heads = ['Requests', 'Input tokens', 'Output tokens', 'USD'].map((head) => `<th>${head}</th>`).join('');

function cells(
  sums: Pick<Statement['totals'], 'requests' | 'input_tokens' | 'output_tokens' | 'cost_usd' | 'unpriced_requests'>,
) {
  const { requests, input_tokens, output_tokens, cost_usd, unpriced_requests: unpriced } = sums;
  const counts = [requests, input_tokens, output_tokens].map((count) => `<td>${count.toLocaleString('en-US')}</td>`);
  const usd = unpriced > 0 && cost_usd === 0 ? '' : cost_usd.toFixed(2);
  const lacks = unpriced > 0 ? `${usd === '' ? '' : ' + '}${unpriced} without a price` : '';
  return `${counts.join('')}<td>${usd}${lacks}</td>`;
}

function named(account: string, name: string): string {
  return name === account ? account : `${name} (${account})`;
}

function text(given: string): string {
  return given.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

const style = `body{font:13px/1.4 system-ui,sans-serif;margin:2rem;color:#111}h1{font-size:1.3rem;margin:0}
table{border-collapse:collapse;width:100%;margin-top:1rem}th,td{padding:.25rem .5rem;text-align:right;border-bottom:1px solid #ccc}
th:first-child,td:first-child{text-align:left;overflow-wrap:anywhere}tfoot td{font-weight:600;border-bottom:0}
section+section{margin-top:3rem}@media print{body{margin:0}section+section{break-before:page;margin-top:0}}`;
