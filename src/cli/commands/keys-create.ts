import { didYouMean } from '../../kernel/nearest.ts';
import { type AdminClient, type AdminFlags, AdminRefused, withAdmin } from '../admin-client.ts';
import { CommandFailed } from '../command-failed.ts';
import { futureInstantMs } from '../instant-option.ts';
import type { CliParts } from '../parts.ts';
import { note, print, printJson } from '../print.ts';
import { listRows, type Row } from '../rows.ts';

export interface KeysCreateFlags extends AdminFlags {
  account: string;
  name: string;
  plan?: string;
  expires?: string;
  models?: string[];
  ips?: string[];
  shareVectorsWith?: string;
}

/**
 * `culvert keys create`: the account too if there is none of that name. The secret stands alone on stdout, so that
 * `KEY=$(culvert keys create …)` takes it.
 */
export async function createKey(flags: KeysCreateFlags, parts: CliParts): Promise<number> {
  const { account, name } = flags;
  const expires =
    flags.expires === undefined
      ? undefined
      : new Date(futureInstantMs('--expires', flags.expires, Date.now())).toISOString();
  return withAdmin(flags, parts, async (admin) => {
    const found = await accountOf(admin, account, flags.plan);
    const shared = flags.shareVectorsWith;
    const body = {
      account,
      name,
      ...(expires !== undefined && { expires }),
      ...(flags.models !== undefined && { models: flags.models }),
      ...(flags.ips !== undefined && { ips: flags.ips }),
      ...(shared !== undefined && { share_vectors_with: shared }),
    };
    const create = async () => (await admin.request('POST', '/keys', { body })) as Row;
    const made = found === null ? await createWithAccount(admin, account, flags.plan, create) : await create();
    if (flags.json) printJson(made);
    else {
      note(`Key '${name}' of account '${account}', plan '${made.plan}'; the secret is shown this once:`);
      print(String(made.key));
    }
    return 0;
  });
}

/** Null when there is no such account. Refuses one whose plan is another than the one asked for. */
async function accountOf(admin: AdminClient, id: string, plan: string | undefined): Promise<Row | null> {
  if (plan !== undefined) await checkPlan(admin, plan);
  let account: Row;
  try {
    account = (await admin.request('GET', `/accounts/${encodeURIComponent(id)}`)) as Row;
  } catch (error) {
    if (error instanceof AdminRefused && error.status === 404) return null;
    throw error;
  }
  if (plan === undefined || account.plan === plan) return account;
  throw new CommandFailed(`Account '${id}' has plan '${account.plan}', which a new key does not change.`);
}

/** The key is tried first: what is wrong with it is said before an account is made for nothing. */
async function createWithAccount(
  admin: AdminClient,
  id: string,
  plan: string | undefined,
  create: () => Promise<Row>,
): Promise<Row> {
  let refused: AdminRefused;
  try {
    return await create();
  } catch (error) {
    if (!(error instanceof AdminRefused) || error.param !== 'account') throw error;
    refused = error;
  }
  try {
    await admin.request('POST', '/accounts', { body: { id, name: id, ...(plan !== undefined && { plan }) } });
  } catch (error) {
    // What no account may be called was said of the key's account in its own words.
    throw error instanceof AdminRefused && error.param === 'id' ? refused : error;
  }
  return create();
}

const plansMax = 10_000;

/** Refuses a plan that is none, and says which was probably meant. */
export async function checkPlan(admin: AdminClient, named: string): Promise<void> {
  const plans = (await listRows(admin, '/plans', {}, plansMax)).rows.map(({ name }) => String(name));
  if (plans.includes(named)) return;
  throw new CommandFailed(`There is no plan '${named}'${didYouMean(named, plans)}. Plans: ${plans.join(', ')}.`);
}
