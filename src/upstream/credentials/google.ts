import type {
  AwsClientOptions,
  GoogleAuth,
  IdentityPoolClientOptions,
  JWTInput,
  PluggableAuthClientOptions,
} from 'google-auth-library';
import { type Clock, systemClock } from '../../kernel/clock.ts';
import { type JsonObject, objectIn, parsedData } from '../../kernel/json.ts';
import { installCommand, isInstalled } from '../../kernel/optional-package.ts';
import { withoutSecrets } from '../../kernel/secret-spellings.ts';
import { withinMs } from '../../kernel/within-ms.ts';
import { type Authorizer, NotAuthorized, type UpstreamRequest } from '../transport/upstream-call.ts';
import { createRenewed, type Perishable } from './expiring-credential.ts';

/** Identity at Google; empty: Google's Application Default Credentials. */
export interface GoogleFacts {
  /** The JSON of a service account or of a user, as text. */
  credentials?: string | undefined;
  /** Path of such a file, also of workload identity federation. */
  credentialsFile?: string | undefined;
}

/** Placeholder in a path for the project that the credentials are of: no project is called so. */
export const unknownProject = '-';

const name = 'google-auth-library';
const scope = 'https://www.googleapis.com/auth/cloud-platform';
const answerMaxMs = 20_000;

/**
 * Tokens of Google Cloud by its own library: Application Default Credentials (a file, gcloud's login, the metadata server),
 * a service account, or workload identity federation. Where a path leaves the project open, it is completed with that of
 * the credentials. A failure says what was tried.
 */
export function googleAuthorizer(facts: GoogleFacts, clock: Clock = systemClock): Authorizer {
  let opened: Promise<GoogleAuth> | null = null;
  const auth = () => {
    opened ??= openAuth(facts).catch((error: unknown) => {
      opened = null;
      throw error;
    });
    return opened;
  };
  async function answered<T>(ask: (auth: GoogleAuth) => Promise<Perishable<T>>): Promise<Perishable<T>> {
    const answer = await withinMs(answerMaxMs, auth().then(ask), null);
    if (answer !== null) return answer;
    // The library lets all later calls wait for a request that hangs.
    opened = null;
    throw new Error(`no answer came within ${answerMaxMs / 1_000} s`);
  }
  const proof = createRenewed(() => tried(facts, 'token', () => answered(headersNow)), clock);
  const project = createRenewed(() => tried(facts, 'project', () => answered(projectOf)), clock);
  return (request) => {
    const headers = proof.get();
    const id = request.path.includes(openProject) ? project.get() : '';
    if (!(headers instanceof Promise) && !(id instanceof Promise)) return completed(request, id, headers);
    return Promise.all([headers, id]).then(([given, found]) => completed(request, found, given));
  };
}

const openProject = `/projects/${unknownProject}/`;

function completed(request: UpstreamRequest, project: string, headers: readonly string[]): readonly string[] {
  if (project !== '') request.path = request.path.replace(openProject, `/projects/${encodeURIComponent(project)}/`);
  return headers;
}

async function openAuth({ credentials, credentialsFile }: GoogleFacts): Promise<GoogleAuth> {
  if (!isInstalled(name)) {
    throw new NotAuthorized(`Google's credentials need the package ${name}. Run ${installCommand(name)}`);
  }
  const library = await import('google-auth-library');
  let auth: GoogleAuth;
  if (credentials !== undefined) auth = authOf(library, readJson(credentials), plainTypes);
  else if (credentialsFile !== undefined) {
    const { readFile } = await import('node:fs/promises');
    auth = authOf(library, readJson(await readFile(credentialsFile, 'utf8')), fileTypes);
  } else auth = new library.GoogleAuth({ scopes: [scope] });
  // A service account signs its tokens itself: nobody need be asked for one.
  auth.useJWTAccessWithScope = true;
  return auth;
}

/** Other types name files, addresses and programs, which only the machine's own files may. */
const plainTypes: ReadonlySet<string> = new Set(['service_account', 'authorized_user']);
const fileTypes: ReadonlySet<string> = new Set([...plainTypes, 'external_account']);

type Library = typeof import('google-auth-library');

/** A separate client for each type: the library warns of those that it makes of JSON. */
function authOf(library: Library, json: JsonObject, types: ReadonlySet<string>): GoogleAuth {
  const { type, project_id: projectId, quota_project_id: payer } = json;
  if (typeof type !== 'string' || !types.has(type)) {
    throw new NotAuthorized(
      types === plainTypes
        ? 'the key is neither a service account nor a user; give other credentials as google.credentials_file'
        : `google.credentials_file holds none of these types: ${[...types].join(', ')}`,
    );
  }
  const project = projectId ?? payer;
  return new library.GoogleAuth({
    authClient: clientOf(library, type, json),
    scopes: [scope],
    ...(typeof project === 'string' && { projectId: project }),
  });
}

function clientOf(library: Library, type: string, json: JsonObject) {
  if (type === 'external_account') return federatedClient(library, json);
  const client = type === 'service_account' ? new library.JWT({ scopes: [scope] }) : new library.UserRefreshClient();
  client.fromJSON(json as JWTInput);
  return client;
}

/** AWS, a program, or a token in a file or at an address, as `credential_source` says. */
function federatedClient({ AwsClient, PluggableAuthClient, IdentityPoolClient }: Library, json: JsonObject) {
  const source = objectIn(json.credential_source);
  const options = { ...json, scopes: [scope] } as unknown;
  if ('environment_id' in source) return new AwsClient(options as AwsClientOptions);
  if ('executable' in source) return new PluggableAuthClient(options as PluggableAuthClientOptions);
  return new IdentityPoolClient(options as IdentityPoolClientOptions);
}

function readJson(text: string): JsonObject {
  const read = parsedData(text);
  // It holds a secret: no message repeats it.
  if (read === null) throw new NotAuthorized("the credentials are no JSON of Google's");
  return read;
}

async function headersNow(auth: GoogleAuth) {
  const client = await auth.getClient();
  const headers = await client.getRequestHeaders();
  // Of a token that a service account signs, the library says 1, and keeps it while it is good: it is always requested.
  return { value: [...headers].flat(), expiresAtMs: client.credentials.expiry_date ?? 1 };
}

async function projectOf(auth: GoogleAuth) {
  return { value: await auth.getProjectId(), expiresAtMs: null };
}

/** Members of the credentials that are secret. */
function secretsIn(credentials: string): string[] {
  const { refresh_token, client_secret, private_key } = readJson(credentials);
  return [refresh_token, client_secret, private_key].filter((one) => typeof one === 'string');
}

/** The library's errors may hold whole requests: only their message is shown. */
async function tried<T>(facts: GoogleFacts, what: 'token' | 'project', ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof NotAuthorized) throw error;
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1);
    const hint = what === 'project' ? '; set project in the configuration, or GOOGLE_CLOUD_PROJECT' : '';
    const why = withoutSecrets(line, secretsIn(facts.credentials ?? '{}')).slice(0, 300);
    throw new NotAuthorized(`Google gave no ${what} for ${sourceOf(facts)}: ${why}${hint}`);
  }
}

function sourceOf({ credentials, credentialsFile }: GoogleFacts): string {
  if (credentials !== undefined) return 'the key of the configuration';
  if (credentialsFile !== undefined) return 'google.credentials_file';
  if (process.env.GOOGLE_APPLICATION_CREDENTIALS) return 'the file that GOOGLE_APPLICATION_CREDENTIALS names';
  return "gcloud's login or the metadata server (GOOGLE_APPLICATION_CREDENTIALS is not set)";
}
