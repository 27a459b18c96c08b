import { addAddresses, addressKey } from '../../formats/neutral/known-addresses.ts';
import type { ServerResult, ServerSource, ServerToolFault, WebFetchTool } from '../../formats/neutral/server-tool.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import { factsOf } from '../../kernel/failure-facts.ts';
import { type SourceMarks, sourceText } from './source-marks.ts';
import type { ServerToolPorts, ToolOwner } from './tool-ports.ts';

const urlCharsMax = 8_192;
const charsDefault = 100_000;
const charsMax = 400_000;
/** For English prose. */
const charsPerToken = 4;

/** A page for the model, or why it got none. */
export interface Fetched {
  result: ServerResult;
  costMilli: number;
}

/**
 * Pages that the model of one answer reads. It may read what the conversation names, and what a search or a page of
 * this answer has named. Words in a page could otherwise make it carry the conversation away in an address.
 */
export class PageFetches {
  /** Pages that were asked for. */
  count = 0;
  readonly #ports: Pick<ServerToolPorts, 'fetchPage'>;
  readonly #owner: ToolOwner;
  readonly #marks: SourceMarks;
  readonly #foundAddresses = new Set<string>();
  #read = 0;

  constructor(ports: Pick<ServerToolPorts, 'fetchPage'>, owner: ToolOwner, marks: SourceMarks) {
    this.#ports = ports;
    this.#owner = owner;
    this.#marks = marks;
  }

  /** Remembers the addresses that a search found: the model may read them. */
  addSources(sources: readonly ServerSource[]): void {
    for (const { url, quote } of sources) addAddresses([url, quote], this.#foundAddresses);
  }

  async fetch(tool: WebFetchTool, text: string, signal: AbortSignal): Promise<Fetched> {
    if (text.length > urlCharsMax) return refused('url_too_long', `An address has at most ${urlCharsMax} characters.`);
    const key = addressKey(text);
    const url = key === null ? null : URL.parse(/^https?:/i.test(text) ? text : `https://${text}`);
    if (url === null || key === null) return refused('invalid_tool_input', 'This is not a web address.');
    if (!mayRead(tool, url)) return refused('url_not_allowed', 'The request does not allow this domain.');
    if (!tool.known.includes(key) && !(tool.followsFound && this.#foundAddresses.has(key))) {
      const message = 'Only addresses that the user, a search or a page has named can be read.';
      return refused('url_not_in_prior_context', message);
    }
    this.count += 1;
    const page = await this.#ports.fetchPage(this.#owner, url.href, tool, async (next) => mayRead(tool, next), signal);
    if (isFailure(page)) return refused(toolFaultOf(page), factsOf(page, 0).message);
    const { costMilli } = page;
    const end = URL.parse(page.url);
    // A page that was kept has followed its redirects already.
    if (end !== null && !mayRead(tool, end)) {
      return refused('url_not_allowed', 'It leads to a domain that the request does not allow.', costMilli);
    }
    if (page.status >= 400) {
      return refused('url_not_accessible', `The page answered with status ${page.status}.`, costMilli);
    }
    const most = tool.tokensMax === null ? charsDefault : Math.min(charsMax, tool.tokensMax * charsPerToken);
    // A model's provider may refuse half of a character.
    const quote = page.text.slice(0, most).toWellFormed();
    addAddresses(quote, this.#foundAddresses);
    const document = this.#read++;
    const source = { url: page.url, title: page.title, quote, document, score: null, attributes: {}, age: null };
    // A citation names the page. Nobody knows which of its words are meant.
    const mark = tool.cited ? this.#marks.sources.push({ ...source, quote: '' }) - 1 : null;
    const cut = page.text.length > most ? '\n\n[This is the beginning of a longer page.]' : '';
    const words = sourceText(source, mark) + cut;
    return { result: { failure: null, sources: [source], text: words, fetchedAt: page.fetchedAt }, costMilli };
  }
}

/** A refusal as an answer to the model. */
export function refused(code: ServerToolFault | null, message: string, costMilli = 0): Fetched {
  const text = `The page was not read: ${message}`;
  return { result: { failure: message, ...(code !== null && { code }), sources: [], text }, costMilli };
}

function mayRead({ allowedDomains, blockedDomains }: WebFetchTool, url: URL): boolean {
  if (blockedDomains.some((domain) => isWithin(url, domain))) return false;
  return allowedDomains.length === 0 || allowedDomains.some((domain) => isWithin(url, domain));
}

/** `example.com` covers the hosts below it too, `example.com/blog` all below that path, a `*` in a path any text. */
function isWithin({ hostname, pathname }: URL, domain: string): boolean {
  const place = URL.parse(/^https?:\/\//i.test(domain) ? domain : `https://${domain}`);
  if (place === null) return false;
  const [host, allowedHost] = [hostname, place.hostname].map((name) => name.replace(/\.$/, ''));
  if (host !== allowedHost && !host!.endsWith(`.${allowedHost}`)) return false;
  const [start = '', ...others] = place.pathname.replace(/\/$/, '').split('*');
  if (others.length === 0) return pathname === start || pathname.startsWith(`${start}/`);
  if (!pathname.startsWith(start)) return false;
  let at = start.length;
  return others.every((piece, n) => {
    const isLast = n === others.length - 1 && piece !== '';
    const found = `${pathname}/`.indexOf(isLast ? `${piece}/` : piece, at);
    at = found + piece.length;
    return found >= 0;
  });
}

function toolFaultOf(failure: Failure): ServerToolFault | null {
  switch (failure.kind) {
    case 'page-refused':
      if (failure.code === 'url_blocked' || failure.code === 'page_redirects') return 'url_not_allowed';
      return failure.code === 'page_too_large' ? 'content_too_large' : 'url_not_accessible';
    case 'unsupported':
      return 'unsupported_content_type';
    case 'quota-exceeded':
    case 'overloaded':
      return 'too_many_requests';
    default:
      return null;
  }
}
