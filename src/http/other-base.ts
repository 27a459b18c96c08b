/** A path as a client of another server writes it, in this server's words. */
export interface KnownPath {
  path: string;
  /** The model that the path names, whatever the body says. */
  deployment?: string;
}

/** Bedrock's, whose models have slashes in ARNs and in names of ours. Linear: nobody needs a key for a long path. */
const ofModel = /^\/model\/(.+)\/(converse|converse-stream|invoke|invoke-with-response-stream|count-tokens)$/;
/** The AI SDK's gateway, below earlier versions of its address. */
const ofAiSdk = /^\/v[13]\/ai(\/(?:[a-z]+-model(?:\/start|\/status)?|config))$/;
/** Azure AI's model inference, where the body names the model. */
const ofFoundry = /^\/models(\/(?:chat\/completions|(?:images\/)?embeddings))$/;
/** Azure's, of one deployment. */
const ofDeployment = /^\/openai\/deployments\/([^/]+)(\/.+)$/;
/** Azure's v1 API, its paths without a deployment, LiteLLM's paths of vendors, and what OpenRouter and Google have before. */
const ofVendor = /^\/(?:openai|anthropic|gemini|vertex_ai|cursor|api|v1(?:beta)?\/openai)(\/v1(?:beta1?)?)?(\/.+)$/;
/** A base URL and the slash behind it. Only there may slashes be too many: elsewhere nothing between two is an empty name. */
const ofBase = /^(?:\/+(?:openai|anthropic|gemini|cursor|api|v\d(?:beta1?)?))*\/+/;
/** Endpoints that ask a model, with a slash behind them: LiteLLM and vLLM lead those who write one to the endpoint. */
const endedBySlash =
  /\/(?:completions|messages|responses|embeddings|rerank|moderations|decisions|speech|trans(?:crip|la)tions|generations|edits)(\/+)$/;
/** A base URL with a version, to which clients add theirs. */
const versionAgain = /\/v\d(?:beta)?(?=\/v\d(?:beta1?)?\/)/g;
/** They also write the whole address of a file in place of its name, unless it begins with https. */
const ofFileAddress = /^(\/v1(?:beta)?\/files\/)http:\/\/.+\/files\/([0-9a-z]+:download)$/;
const versioned = /^\/v\d/;

/**
 * The path without slashes and versions that a base URL and its client both wrote; itself if there are none. A slash at its
 * end goes only where it cannot be an empty name, which other methods and objects have there.
 */
export function writtenOnce(method: string, path: string): string {
  const slash = method === 'POST' ? endedBySlash.exec(path)?.[1] : undefined;
  const ended = slash === undefined ? path : path.slice(0, -slash.length);
  return ended.replace(ofBase, (base) => base.replace(/\/+/g, '/').replace(versionAgain, ''));
}

/**
 * For a path without a route: below the base URLs of Azure's clients, the AI SDK's and LiteLLM's, and without `/v1`, as LiteLLM's
 * users write base URLs. Null: there is no other way to read it. The caller asks whether it has a route.
 */
export function otherBaseOf(path: string): KnownPath | null {
  const deployed = ofDeployment.exec(path);
  if (deployed !== null) {
    const deployment = decoded(deployed[1]!);
    return deployment === null ? null : { path: `/v1${deployed[2]}`, deployment };
  }
  const vendors = ofVendor.exec(path);
  if (vendors !== null) return { path: `${vendors[1] ?? '/v1'}${vendors[2]}` };
  const file = ofFileAddress.exec(path);
  if (file !== null) return { path: `${file[1]}${file[2]}` };
  const model = ofModel.exec(path);
  if (model?.[1]?.includes('/')) {
    const named = decoded(model[1]);
    return named === null ? null : { path: `/model/${encodeURIComponent(named)}/${model[2]}` };
  }
  const foundry = ofFoundry.exec(path);
  if (foundry !== null) return { path: `/v1${foundry[1]}` };
  const aiSdk = ofAiSdk.exec(path);
  if (aiSdk !== null) return { path: `/v4/ai${aiSdk[1]}` };
  return versioned.test(path) ? null : { path: `/v1${path}` };
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
