import { FailureError } from '../../kernel/failure.ts';
import { isObject, type JsonValue, objectIn } from '../../kernel/json.ts';
import type { ScreenshotOptions } from '../page-renderer.ts';
import { ToolFields } from '../tool-fields.ts';
import {
  type AttributeSelector,
  type FormatOptions,
  type JsonOptions,
  type ScrapeFormat,
  scrapeFormats,
} from './scraped-page.ts';

const listMax = 20;
/** CSS pixels of a window's side. */
const viewportPxMax = 4_000;
const attributesMax = 50;
const schemaCharsMax = 50_000;
const promptCharsMax = 10_000;
/** Firecrawl's older word for the whole page. */
const wholePage = 'screenshot@fullPage';
/** Firecrawl has them, we have not. */
const formatsElsewhere =
  'audio branding changeTracking deterministicJson highlights menu product query question video'.split(' ');

/** `formats`: a list of words, or of objects whose `type` is one. Throws a FailureError (400, 501) for a wrong one. */
export function readFormats(fields: ToolFields, warnings: string[]): FormatOptions {
  const value = fields.value('formats');
  if (value === undefined) return { formats: ['markdown'] };
  const list = Array.isArray(value) ? value : [value];
  refuseElsewhere(list);
  const formats = list.map(formatOf);
  if (list.length > listMax || formats.includes(null)) {
    return fields.refuse('formats', `an array of ${[...scrapeFormats, 'json', 'attributes'].join(', ')}`);
  }
  const requestedFormats = new Set(formats as ScrapeFormat[]);
  const requested = (format: ScrapeFormat) => list.find((one) => formatOf(one) === format);
  const [screenshot, attributes, json] = [requested('screenshot'), requested('attributes'), requested('json')];
  return {
    formats: requestedFormats.size === 0 ? ['markdown'] : [...requestedFormats],
    ...(screenshot !== undefined && { screenshot: screenshotIn(fields, screenshot, warnings) }),
    ...(attributes !== undefined && { attributes: attributesIn(fields, attributes) }),
    ...(json !== undefined && { json: jsonIn(fields, json) }),
  };
}

function formatOf(value: JsonValue): ScrapeFormat | null {
  const word = isObject(value) ? value.type : value;
  if (word === wholePage) return 'screenshot';
  if (word === 'json' || word === 'attributes') return word;
  return scrapeFormats.find((format) => format === word) ?? null;
}

function refuseElsewhere(list: readonly JsonValue[]): void {
  for (const value of list) {
    const word = isObject(value) ? value.type : value;
    if (typeof word !== 'string' || !formatsElsewhere.includes(word)) continue;
    const message = `The format '${word}' is not supported. The format json, {"type": "json", "prompt": "…"}, asks a chat model about the page.`;
    throw new FailureError({ kind: 'unsupported', message });
  }
}

/** Options of one format, whose members are refused as `formats.<name>.…`. */
function fieldsOf(fields: ToolFields, name: ScrapeFormat, value: JsonValue): ToolFields {
  return new ToolFields(objectIn(value), `${fields.pathOf('formats')}.${name}`);
}

/** The screenshot's options, in Firecrawl's form `{type, fullPage, quality, viewport: {width, height}}`. */
function screenshotIn(fields: ToolFields, value: JsonValue, warnings: string[]): ScreenshotOptions {
  if (!isObject(value)) return { fullPage: value === wholePage, viewport: null };
  const inner = fieldsOf(fields, 'screenshot', value);
  const fullPage = inner.truth('fullPage', value.type === wholePage);
  const sized = inner.object('viewport');
  const side = (name: string) =>
    sized?.whole(name, { min: 1, max: viewportPxMax, default: 0 }) ||
    inner.refuse('viewport', 'an object with width and height');
  const viewport = sized === null ? null : { width: side('width'), height: side('height') };
  if (value.quality != null) warnings.push("Screenshots are PNG: 'quality' is ignored.");
  return { fullPage, viewport };
}

/** `{type, selectors: [{selector, attribute}]}` */
function attributesIn(fields: ToolFields, value: JsonValue): readonly AttributeSelector[] {
  const inner = fieldsOf(fields, 'attributes', value);
  const pairs = inner.value('selectors');
  const isText = (one: JsonValue | undefined) => typeof one === 'string' && one !== '' && one.length <= 500;
  const fits = (one: JsonValue): one is { selector: string; attribute: string } =>
    isObject(one) && isText(one.selector) && isText(one.attribute);
  if (!Array.isArray(pairs) || pairs.length === 0 || pairs.length > attributesMax || !pairs.every(fits)) {
    return inner.refuse('selectors', `an array of 1 to ${attributesMax} objects with a selector and an attribute`);
  }
  return pairs.map(({ selector, attribute }) => ({ selector, attribute }));
}

/** `{type, prompt, schema}`, one of the two at least. */
function jsonIn(fields: ToolFields, value: JsonValue): JsonOptions {
  const inner = fieldsOf(fields, 'json', value);
  const prompt = inner.text('prompt', { min: 0, max: promptCharsMax })?.trim() || null;
  const schema = inner.value('schema') ?? null;
  if (schema !== null && (!isObject(schema) || JSON.stringify(schema).length > schemaCharsMax))
    return inner.refuse('schema', `a JSON Schema, an object of at most ${schemaCharsMax} characters`);
  if (schema === null && prompt === null)
    return fields.refuse('formats', 'an array in which json is an object with a prompt, a schema, or both');
  return { prompt, schema };
}
