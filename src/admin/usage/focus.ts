import { z } from 'zod';
import type { UsageRow } from '../../books/metering/ledger.ts';
import { providerTypes } from '../../formats/providers/catalog.ts';
import { hourMs } from '../../kernel/clock.ts';
import { invalid } from '../../kernel/failure.ts';
import { exportedRowsMax } from '../../kernel/limits.ts';
import { requestedAccounts } from '../account-scope.ts';
import { csvLine } from '../csv.ts';
import type { Directory, Records } from '../directory.ts';
import { definedMembers, filter, pastInstant } from '../fields.ts';
import { type Operation, refuse, textOperation } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { periodOf } from '../requests.ts';

/* Costs in the columns of FOCUS 1.2 (https://focus.finops.org), which tools of FinOps read next to the bills of clouds. */

const query = z.strictObject({
  account: filter('Only what this account used.'),
  key: filter('Only what this key used, by its id.'),
  model: filter('Only requests for this model.'),
  provider: filter('Only what this provider answered.'),
  period: z.enum(['day', 'hour']).default('day').describe('Length of the charge periods, in UTC.'),
  from: pastInstant('Start of the range, to the hour. Default: 30 days before `to`.').optional(),
  to: pastInstant('End of the range, to the hour. Default: now.').optional(),
});

/** `/usage/focus.csv` */
export function focusOperations(parts: AdminParts, records: Records): Operation[] {
  return [
    textOperation({
      route: 'GET /usage/focus.csv',
      area: 'usage',
      summary: 'Exports costs as FOCUS 1.2: a row for each day or hour, provider, model and key.',
      query,
      contentType: 'text/csv; charset=utf-8; header=present',
      async run({ query: { account, key, model: alias, provider, period, ...range }, operator }) {
        const directory = await records.current(operator.accounts);
        const { fromMs, toMs } = periodOf(range, parts.clock.wallMs());
        const span = {
          accounts: requestedAccounts(account, operator.accounts),
          fromMs: hoursDown(fromMs),
          toMs: -hoursDown(-toMs),
          rowsMax: exportedRowsMax + 1,
        };
        const where = definedMembers({ key, alias, provider });
        const accounts = new Map<string, string>();
        for (const { group, split } of await parts.ledger.usage({ ...span, where, groupBy: 'key', splitBy: 'account' }))
          accounts.set(group, split ?? '');
        const lines: string[] = [];
        // Each question reads the hours of one period alone.
        const times = await parts.ledger.usage({ ...span, where, groupBy: period, splitBy: 'provider' });
        for (const { group: time, split } of times) {
          const within = { ...span, ...periodAt(time, span) };
          const one = { ...where, provider: split ?? '' };
          const sums = await parts.ledger.usage({ ...within, where: one, groupBy: 'model', splitBy: 'key' });
          // Without a provider: refused here or kept, which costs nothing; or its caller left before anyone answered.
          const rows = split ? sums : sums.filter(({ costUsd }) => costUsd !== 0);
          const provider = split || 'unanswered';
          if (lines.length + rows.length > exportedRowsMax) {
            const most = `the range has more than ${exportedRowsMax} rows, the most of an export`;
            refuse(invalid('from', `from: ${most}. Export a shorter range, or period=day`));
          }
          const title = titleOf(parts, provider);
          for (const row of rows) {
            const owner = { account: accounts.get(row.split ?? '') ?? '', directory };
            lines.push(csvLine(Object.values(chargeOf(row, { provider, title, ...owner, ...within }))));
          }
        }
        return csvLine(columns) + lines.join('');
      },
    }),
  ];
}

/** Facts of the row of a model's sums for a key, in one period. */
interface Charged {
  /** Name of the configuration, and the service's. */
  provider: string;
  title: string;
  account: string;
  directory: Pick<Directory, 'key' | 'account'>;
  fromMs: number;
  toMs: number;
}

type Sums = Pick<UsageRow, 'group' | 'split' | 'costUsd' | 'inputTokens' | 'outputTokens' | 'requests' | 'errors'>;

const noDirectory = { key: () => null, account: () => null };
const columns = Object.keys(
  chargeOf(
    { group: '', split: '', costUsd: 0, inputTokens: 0, outputTokens: 0, requests: 0, errors: 0 },
    { provider: '', title: '', account: '', directory: noDirectory, fromMs: 0, toMs: 0 },
  ),
);

/** A day or an hour, as far as it is within the range. */
function periodAt(time: string, { fromMs, toMs }: Pick<Charged, 'fromMs' | 'toMs'>) {
  const startMs = Date.parse(time);
  const endMs = startMs + (time.includes('T') ? hourMs : 24 * hourMs);
  return { fromMs: Math.max(startMs, fromMs), toMs: Math.min(endMs, toMs) };
}

/** A row of sums as a charge; its members are the columns, in their order. */
function chargeOf(row: Sums, { provider, title, account, directory, fromMs, toMs }: Charged) {
  const { group: model } = row;
  const month = new Date(fromMs);
  const monthAt = (further: number) => Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + further);
  const cost = decimal(row.costUsd);
  const tokens = row.inputTokens + row.outputTokens;
  const [quantity, unit] = tokens > 0 ? [tokens, 'Tokens'] : [row.requests, 'Requests'];
  const key = directory.key(row.split ?? '');
  const keyName = key === null ? row.split : `${key.account}/${key.name}`;
  const sku = `${provider}/${model}`;
  const tags = { ...Object.fromEntries((key?.tags ?? []).map((tag) => [tag, true])), model, provider };
  return {
    BilledCost: cost,
    BillingAccountId: provider,
    BillingAccountName: provider,
    BillingAccountType: 'Provider',
    BillingCurrency: 'USD',
    BillingPeriodEnd: instant(monthAt(1)),
    BillingPeriodStart: instant(monthAt(0)),
    ChargeCategory: 'Usage',
    ChargeClass: null,
    ChargeDescription: `${row.requests} ${row.requests === 1 ? 'request' : 'requests'} for ${model} at ${provider}`,
    ChargeFrequency: 'Usage-Based',
    ChargePeriodEnd: instant(toMs),
    ChargePeriodStart: instant(fromMs),
    ConsumedQuantity: decimal(quantity),
    ConsumedUnit: unit,
    ContractedCost: cost,
    EffectiveCost: cost,
    InvoiceId: null,
    InvoiceIssuerName: title,
    ListCost: cost,
    PricingCategory: 'Standard',
    PricingQuantity: decimal(quantity),
    PricingUnit: unit,
    ProviderName: title,
    PublisherName: title,
    ResourceId: row.split,
    ResourceName: keyName,
    ResourceType: 'API key',
    ServiceCategory: 'AI and Machine Learning',
    ServiceName: `${title} API`,
    ServiceSubcategory: 'Generative AI',
    SkuId: sku,
    SkuPriceId: sku,
    SubAccountId: account,
    SubAccountName: directory.account(account)?.name ?? account,
    SubAccountType: 'Account',
    Tags: JSON.stringify(tags),
    x_Errors: row.errors,
    x_InputTokens: row.inputTokens,
    x_OutputTokens: row.outputTokens,
    x_Requests: row.requests,
  };
}

function hoursDown(ms: number): number {
  return Math.floor(ms / hourMs) * hourMs;
}

function titleOf({ snapshots }: AdminParts, provider: string): string {
  const type = snapshots.current.config.providers[provider]?.type ?? '';
  return providerTypes.get(type)?.title ?? (provider || 'Culvert');
}

function instant(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

/** Without an exponent, which not every reader of the format takes. */
function decimal(value: number): string {
  return value.toFixed(12).replace(/(\.\d+?)0+$/, '$1');
}
