import { objectIn } from '../../../kernel/json.ts';
import { getJson } from '../../transport/get-json.ts';
import { googleAuthorizer, unknownProject } from '../google.ts';
import { type ManagerParts, managerTimeoutMs, refusedBy, type SecretReader, SecretUnread } from './secret-manager.ts';

const form = /^(?:projects\/([\w.:-]+)(?:\/locations\/([a-z\d-]+))?\/secrets\/)?([\w-]+)(?:\/versions\/([\w-]+))?$/;

/**
 * Secrets of Google Cloud by resource name, or by name in the project of the credentials, which are Google's Application
 * Default Credentials (https://cloud.google.com/secret-manager/docs/reference/rest). Those of a location are at its address
 * alone (https://cloud.google.com/secret-manager/regional-secrets/access-regional-secret-version).
 */
export function gcpReader({ env, transport }: ManagerParts): SecretReader {
  const authorize = googleAuthorizer({});
  return async (path) => {
    const [, project = env.GOOGLE_CLOUD_PROJECT || unknownProject, location, name, version = 'latest'] =
      form.exec(path) ?? [];
    const host = location === undefined ? 'secretmanager' : `secretmanager.${location}.rep`;
    const address = env.CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER || `https://${host}.googleapis.com`;
    const place = location === undefined ? project : `${project}/locations/${location}`;
    if (name === undefined || !URL.canParse(address)) {
      throw new SecretUnread('the name is not that of a secret, such as projects/my-project/secrets/openai');
    }
    const to = {
      origin: new URL(address).origin,
      path: `/v1/projects/${place}/secrets/${name}/versions/${version}:access`,
      headers: ['accept', 'application/json'],
      authorize,
    };
    const answer = await getJson(transport, to, managerTimeoutMs);
    const { payload } = objectIn(answer.body);
    const { data } = objectIn(payload);
    if (answer.status !== 200 || typeof data !== 'string') throw refusedBy("Google's Secret Manager", answer);
    return { value: Buffer.from(data, 'base64').toString('utf8'), lastsMs: null };
  };
}
