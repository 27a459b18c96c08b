import { pathSegment } from '../../kernel/web/uri-text.ts';

/** Versions that the v1 API has: they are no dates, and its paths name no deployment. */
const v1Versions = /^(v1|latest|preview)$/;

/** Whether requests go to the v1 API: unless the configuration says a dated version. */
export function isV1(apiVersion: string | null): boolean {
  return apiVersion === null || v1Versions.test(apiVersion);
}

/**
 * Path and query of `end` (`/chat/completions`) for a deployment: in the v1 API, where the body names the deployment,
 * unless the configuration says a dated version.
 * https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
 */
export function azurePath(model: string, end: string, { apiVersion }: { apiVersion: string | null }): string {
  if (apiVersion === null) return `/openai/v1${end}`;
  const query = `?api-version=${encodeURIComponent(apiVersion)}`;
  return v1Versions.test(apiVersion)
    ? `/openai/v1${end}${query}`
    : `/openai/deployments/${pathSegment(model)}${end}${query}`;
}
