import type { SeededGateway } from './seeded-gateway.ts';

/**
 * Pages of a gateway with some days of traffic, by the name of their pictures: a path, or one that is made from the gateway's
 * contents. `every-page.test.ts` looks at each, and `docs/dashboard.md` shows each.
 */
export const everyPage: Record<string, string | ((gateway: SeededGateway) => Promise<string>)> = {
  overview: '/dashboard?range=7d',
  requests: '/dashboard/requests',
  'requests-none': '/dashboard/requests?model=nobody',
  request: async (gateway) => `/dashboard/requests/${await retriedRequest(gateway)}`,
  bodies: '/dashboard/bodies',
  sessions: '/dashboard/sessions',
  'sessions-none': '/dashboard/sessions?account=nobody',
  session: '/dashboard/sessions/timeline?session=refactoring-the-billing-service-0',
  'session-none': '/dashboard/sessions/timeline?session=nobodys',
  usage: '/dashboard/usage?group_by=model&range=7d',
  'usage-by-day': '/dashboard/usage',
  statements: '/dashboard/statements?zone=UTC',
  'playground-new': '/dashboard/playground',
  providers: '/dashboard/providers',
  provider: '/dashboard/providers/claude',
  models: '/dashboard/models',
  model: '/dashboard/models/smart',
  jobs: '/dashboard/jobs',
  'jobs-files': '/dashboard/jobs?view=files',
  'jobs-videos': '/dashboard/jobs?view=videos',
  'mcp-servers-none': '/dashboard/mcp-servers',
  'mcp-calls-none': '/dashboard/mcp-calls',
  'agents-none': '/dashboard/agents',
  cache: '/dashboard/cache',
  replicas: '/dashboard/replicas',
  guards: '/dashboard/guards',
  guard: '/dashboard/guards/pii',
  rules: '/dashboard/routes',
  rule: '/dashboard/routes/free-and-long',
  prompts: '/dashboard/prompts',
  prompt: '/dashboard/prompts/reply',
  welcome: '/dashboard/welcome',
  'vectors-none': '/dashboard/vectors',
  tools: '/dashboard/tools',
  'tools-search': '/dashboard/tools?tool=search',
  'tools-map': '/dashboard/tools?tool=map',
  reference: '/dashboard/reference',
  'reference-operation': '/dashboard/reference?operation=POST+/admin/v1/keys',
  'tools-crawls': '/dashboard/tools?tool=crawls',
  accounts: '/dashboard/accounts',
  account: '/dashboard/accounts/northwind',
  keys: '/dashboard/keys',
  key: async (gateway) => `/dashboard/keys/${encodeURIComponent(await keyOf(gateway, 'northwind'))}`,
  plans: '/dashboard/plans',
  plan: '/dashboard/plans/trial',
  settings: '/dashboard/settings',
  'settings-check': '/dashboard/settings?tab=check',
  'settings-doctor': '/dashboard/settings?tab=doctor',
  'settings-alerts': '/dashboard/settings?tab=alerts',
  'settings-operators': '/dashboard/settings?tab=operators',
  'settings-sessions': '/dashboard/settings?tab=sessions',
  'settings-audit': '/dashboard/settings?tab=audit',
  'settings-backup': '/dashboard/settings?tab=backup',
};

/** Pictures of pages that other tests of this folder set up first, which `docs/dashboard.md` shows, too. */
export const pagesOfTheirTests = [
  'login',
  'invitation',
  'request-conversation',
  'bodies-found',
  'playground',
  'model-variants',
  'guard-tried',
  'rule-classes',
  'cache-used',
  'vectors',
  'vectors-search',
  'vectors-map',
  'tools-scrape',
  'tools-searched',
  'tools-crawl-running',
  'jobs-batches',
  'mcp-server-tried',
  'mcp-calls',
  'agent',
  'members',
  'reference-form',
  'own',
  'own-requests',
  'own-models',
  'connect',
] as const;

/** One that another provider answered than the first that was asked. */
async function retriedRequest(gateway: SeededGateway): Promise<string> {
  const answer = await gateway.admin('/requests?class=ok&limit=1000');
  const { data } = (await answer.json()) as { data: { id: string; route: { attempts: unknown[] } }[] };
  return data.find(({ route }) => route.attempts.length > 1)!.id;
}

async function keyOf(gateway: SeededGateway, account: string): Promise<string> {
  const answer = await gateway.admin(`/keys?account=${account}`);
  const { data } = (await answer.json()) as { data: { id: string }[] };
  return data[0]!.id;
}

/** A picture of `docs/pictures`, and the screenshot that it is made of: names of `shoot`, without their endings. */
interface DocsPicture {
  file: string;
  screenshot: string;
}

/** Screens that the documentation shows in another way than on a light desktop. */
const otherLooks: Record<string, string> = { model: 'desktop-dark', cache: 'desktop-dark' };

/** All pictures of the dashboard in the documentation. `scripts/docs-pictures.mjs` makes them. */
export const docsPictures: readonly DocsPicture[] = [
  ...[...Object.keys(everyPage), ...pagesOfTheirTests].map((name) => ({
    file: `dashboard-${name}.webp`,
    screenshot: `${name}-${otherLooks[name] ?? 'desktop-light'}`,
  })),
  ...['overview', 'requests', 'key', 'usage'].map((name) => ({
    file: `dashboard-${name}-phone-dark.webp`,
    screenshot: `${name}-phone-dark`,
  })),
];
