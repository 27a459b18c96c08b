import { systemClock } from '../../../kernel/clock.ts';
import { objectIn } from '../../../kernel/json.ts';
import { postJson } from '../../transport/get-json.ts';
import type { Authorizer } from '../../transport/upstream-call.ts';
import { awsAuthorizer } from '../aws-signature.ts';
import { type ManagerParts, managerTimeoutMs, refusedBy, type SecretReader, SecretUnread } from './secret-manager.ts';

/**
 * Secrets of AWS Secrets Manager by name or ARN, with the credentials of AWS's own chain
 * (https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html).
 */
export function awsReader({ env, transport }: ManagerParts): SecretReader {
  const signers = new Map<string, Authorizer>();
  return async (id) => {
    const region = /^arn:aws[\w-]*:secretsmanager:([\w-]+):/.exec(id)?.[1] ?? env.AWS_REGION ?? env.AWS_DEFAULT_REGION;
    if (!region) throw new SecretUnread('set AWS_REGION, or write the ARN of the secret');
    let authorize = signers.get(region);
    if (authorize === undefined) {
      authorize = awsAuthorizer({ region }, 'secretsmanager', systemClock);
      signers.set(region, authorize);
    }
    const address = env.AWS_ENDPOINT_URL_SECRETS_MANAGER || env.AWS_ENDPOINT_URL || addressOf(region);
    if (!URL.canParse(address)) throw new SecretUnread('AWS_ENDPOINT_URL_SECRETS_MANAGER is not a URL');
    const headers = ['content-type', 'application/x-amz-json-1.1', 'x-amz-target', 'secretsmanager.GetSecretValue'];
    const to = { origin: new URL(address).origin, path: '/', headers, authorize };
    const answer = await postJson(transport, to, JSON.stringify({ SecretId: id }), managerTimeoutMs);
    const { SecretString: text } = objectIn(answer.body);
    if (answer.status !== 200) throw refusedBy('AWS Secrets Manager', answer);
    if (typeof text !== 'string') throw new SecretUnread('the secret is binary; Culvert reads texts');
    return { value: text, lastsMs: null };
  };
}

function addressOf(region: string): string {
  return `https://secretsmanager.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
}
