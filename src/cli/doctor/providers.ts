import { credentialsOf } from '../../config/declared.ts';
import type { LocalServer } from '../../formats/providers/probe-local.ts';
import type { Snapshot } from '../../inference/models/snapshot.ts';
import { budgetedIn, unpricedFix, unpricedMessage, unpricedTargets } from '../../inference/models/unpriced.ts';
import type { LiveReport } from '../commands/check-live.ts';
import { type Finding, ok, problem, warning } from './finding.ts';

/**
 * Each configured provider, and whether it has what a call needs. Asks nobody. `budgeted`: the models whose requests a
 * budget should count.
 */
export function providerFindings(
  snapshot: Snapshot,
  problems: readonly string[],
  budgeted: ReadonlySet<string> = budgetedIn(snapshot.config),
): Finding[] {
  const real = [...snapshot.providers.values()].filter(({ simulated }) => !simulated);
  const findings = real.map(({ connection, config }): Finding => {
    const { name, provider } = connection;
    const credentials = credentialsOf(config).length;
    if (credentials > 0)
      return ok(`provider ${name}`, credentials === 1 ? 'one credential' : `${credentials} credentials`);
    if (provider.envKey === null) return ok(`provider ${name}`, 'needs no credential');
    const fix = `Set its api_key, such as \${${provider.envKey}}.`;
    return { ...warning(`provider ${name}`, 'has no credential', fix), page: 'providers', id: name };
  });
  if (real.length === 0) {
    const fix = 'Set OPENAI_API_KEY or another, or name one in culvert.yaml.';
    const others = snapshot.config.storage.database === 'sqlite' ? '' : '; a server reads those of the database';
    findings.push({ ...warning('providers', `none is configured${others}`, fix), page: 'providers', id: null });
  }
  const noPrice = unpricedMessage(unpricedTargets(snapshot, budgeted));
  if (noPrice !== null) findings.push({ ...warning('prices', noPrice, unpricedFix), page: 'models', id: null });
  return [...findings, ...problems.map((message) => problem('providers', message, fixOf(message)))];
}

/** Most problems begin with the path of what they are about. */
function fixOf(message: string): string {
  const place = /^(models|providers?)[. ][^:]+(?=: )/.exec(message)?.[0];
  if (place === undefined) return 'Correct that provider in the configuration.';
  return place.startsWith('models.')
    ? `Name a target of another provider at ${place}.`
    : `Correct ${place} in the configuration.`;
}

/** The answers of each provider to each credential, and of each search engine to a query. */
export function liveFindings({ live, search }: LiveReport): Finding[] {
  const engines = search.map(({ engine, verdict, message, hits, ms }): Finding => {
    const check = `search engine ${engine}`;
    if (verdict === 'ok') return ok(check, `answered in ${ms} ms with ${hits === 0 ? 'no result' : 'results'}`);
    const fix = verdict === 'bad credential' ? 'Give it an API key that works.' : 'Check its base_url and settings.';
    return problem(check, `${verdict}: ${message}`, fix);
  });
  const models = live.map(({ credential, verdict, message, models, ms }): Finding => {
    const check = `provider ${credential}`;
    if (verdict === 'ok') return ok(check, `answered in ${ms} ms, lists ${models} models`);
    if (verdict === 'not listed') return ok(check, `answered in ${ms} ms; it lists no models`);
    const fix =
      verdict === 'bad credential' ? 'Give it a credential that works.' : 'Check its base_url and the network.';
    return problem(check, `${verdict}: ${message}`, fix);
  });
  return [...models, ...engines];
}

/** Model servers that were recognised on this machine. */
export function localFindings(found: readonly LocalServer[], snapshot: Snapshot): Finding[] {
  const used = new Set<string>([...snapshot.providers.values()].map(({ connection }) => connection.origin));
  if (snapshot.localSearch !== null) used.add(new URL(snapshot.localSearch).origin);
  return found.map(({ title, use, url, models, note }): Finding => {
    if (use === 'listed') return ok('local server', `${title} at ${url}, not used: ${note}`);
    const holds = use === 'search' ? 'web search' : `${models.length} models`;
    const message = `${title} at ${url}, ${holds}${note === null ? '' : ` (${note})`}`;
    return used.has(new URL(url).origin)
      ? ok('local server', `${message}, used`)
      : ok('local server', `${message}, not used. 'autodetect: on' or CULVERT_AUTODETECT=1 uses it`);
  });
}
