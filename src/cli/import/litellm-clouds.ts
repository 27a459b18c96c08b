import { type JsonObject, objectIn } from '../../kernel/json.ts';
import { type FieldTable, type Reader, readFields } from './import-fields.ts';
import type { Path } from './notes.ts';
import { isWritable, plain, textOf, type Values, type VariableKind } from './plain-values.ts';

/** Members of a provider of ours that say where in a cloud it is and who asks. */
export interface CloudPlace {
  members: JsonObject;
  /** Names of the parameters that were read. */
  read: readonly string[];
  /** The credential is in `members`, or the cloud's own chain finds it, so no key is lacking. */
  keyless: boolean;
}

type Cloud = 'aws' | 'google' | 'azure';

/** Reads a text, or a reference to a variable of that kind. */
export const text =
  (kind: VariableKind): Reader =>
  (value, path, values) =>
    textOf(values, value, path, kind);

const aws: FieldTable = {
  aws_access_key_id: ['access_key_id', text('text')],
  aws_secret_access_key: ['secret_access_key', text('secret')],
  aws_session_token: ['session_token', text('secret')],
  aws_profile_name: ['profile', text('text')],
  aws_role_name: ['role_arn', text('arn')],
  aws_external_id: ['external_id', text('text')],
  aws_session_name: 'Culvert names the session of an assumed role itself',
  aws_web_identity_token: 'AWS’s chain takes it from AWS_WEB_IDENTITY_TOKEN_FILE',
  aws_sts_endpoint: 'AWS’s chain takes it from AWS_ENDPOINT_URL_STS',
};

const google: FieldTable = { vertex_project: ['project', text('text')], vertex_location: ['region', regionOf] };

const person = 'Entra ID is asked as an application, a workload or a managed identity, not as a person';
const azure: FieldTable = {
  tenant_id: ['tenant_id', text('text')],
  client_id: ['client_id', text('text')],
  client_secret: ['client_secret', text('secret')],
  azure_scope: ['scope', text('text')],
  azure_ad_token: 'Culvert asks Entra ID for tokens itself: providers.NAME.entra, or the environment',
  azure_username: person,
  azure_password: person,
};

/** `regionInModel`: Bedrock's models may begin with one. */
export function placeInCloud(
  values: Values,
  cloud: Cloud | undefined,
  params: JsonObject,
  at: Path,
  regionInModel: string | null,
): CloudPlace {
  if (cloud === undefined) return { members: {}, read: [], keyless: false };
  return places[cloud](values, params, at, regionInModel);
}

const places: Readonly<Record<Cloud, (v: Values, p: JsonObject, at: Path, region: string | null) => CloudPlace>> = {
  aws(values, params, at, regionInModel) {
    const members = readFields(params, aws, at, values);
    if ((members.access_key_id === undefined) !== (members.secret_access_key === undefined)) {
      values.notes.add(at, 'its access key is not carried over: aws_access_key_id and its secret belong together');
      delete members.access_key_id;
      delete members.secret_access_key;
    }
    const named = params.aws_region_name === undefined ? 'region_name' : 'aws_region_name';
    const region = regionOf(params[named], [...at, named], values) ?? regionInModel;
    if (region === null) values.notes.add(at, noRegion);
    return {
      members: { ...(region !== null && { region }), ...(Object.keys(members).length > 0 && { aws: members }) },
      read: [...Object.keys(aws), 'aws_region_name', 'region_name', 'aws_bedrock_runtime_endpoint'],
      keyless: true,
    };
  },
  google(values, params, at) {
    const path = [...at, 'vertex_credentials'];
    return {
      members: {
        ...readFields(params, google, at, values),
        ...googleCredentials(values, params.vertex_credentials, path),
      },
      read: [...Object.keys(google), 'vertex_credentials'],
      keyless: true,
    };
  },
  azure(values, params, at) {
    const entra = readFields(params, azure, at, values);
    const hasMembers = Object.keys(entra).length > 0;
    return {
      members: hasMembers ? { entra } : {},
      read: Object.keys(azure),
      keyless: hasMembers || params.azure_ad_token != null,
    };
  },
};

const noRegion =
  'it names no region, so AWS_REGION of the environment counts; LiteLLM takes us-west-2 where there is none';

function regionOf(value: unknown, path: Path, values: Values): string | null {
  const text = textOf(values, value, path, 'text');
  if (text === null || text.startsWith('${') || /^[a-z]{2}[a-z0-9-]{0,38}$/.test(text)) return text;
  values.notes.add(path, 'not carried over: it is not the name of a region');
  return null;
}

/** A path, or the JSON itself as a text or as a mapping. */
function googleCredentials(values: Values, value: unknown, path: Path): JsonObject {
  const whole = objectIn(value);
  const json = Object.keys(whole).length > 0 ? JSON.stringify(whole) : value;
  if (typeof json === 'string' && json.trimStart().startsWith('{') && isWritable(json)) {
    values.notes.add(path, 'a secret in plain text, carried over as it is; a file is better: google.credentials_file');
    return { api_key: plain(json) };
  }
  const file = textOf(values, json, path, 'text');
  if (file?.startsWith('${') === true) {
    values.notes.add(path, `taken to be the path of a file; if ${file} holds the JSON itself, it belongs into api_key`);
  }
  return file === null ? {} : { google: { credentials_file: file } };
}
