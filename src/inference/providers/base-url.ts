import type { Provider } from './provider.ts';

/** Where a provider is: the operator's address, else its own. The message names the fault, never a secret. */
export function readBaseUrl(facts: {
  name: string;
  provider: Provider;
  baseUrl: string | null;
}): { ok: true; origin: string; path: string } | { ok: false; message: string } {
  const { name, provider } = facts;
  const text = facts.baseUrl ?? provider.baseUrl;
  if (text === null) return { ok: false, message: `provider ${name}: type ${provider.id} needs a base_url` };
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return { ok: false, message: `provider ${name}: base_url is not a URL` };
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return { ok: false, message: `provider ${name}: base_url must begin with https:// or http://` };
  }
  if (url.username !== '' || url.password !== '') {
    return {
      ok: false,
      message: `provider ${name}: base_url must not carry a user or password; use api_key or headers`,
    };
  }
  if (url.search !== '' || url.hash !== '') {
    return { ok: false, message: `provider ${name}: base_url must not carry ? or #; use api_version or headers` };
  }
  let path = withoutEndSlash(url);
  const suffix = provider.baseSuffixes?.find((end) => path.endsWith(end));
  if (suffix !== undefined) path = path.slice(0, -suffix.length);
  // `http://gpu-box:11434` is how people write a local server; the API stands under the preset's path.
  if (path === '' && provider.local && provider.baseUrl !== null) path = withoutEndSlash(new URL(provider.baseUrl));
  if (provider.baseEnd !== undefined && !path.endsWith(provider.baseEnd)) path += provider.baseEnd;
  return { ok: true, origin: url.origin, path };
}

function withoutEndSlash({ pathname }: URL): string {
  return pathname.replace(/\/+$/, '');
}
