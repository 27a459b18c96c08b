/** `postgres://user:password@`, `host:port,host:port`, `/database?…`. */
const urlForm = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s;

/**
 * A URL for each host of one that names several, as libpq takes them
 * (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS).
 */
export function urlsOfHosts(url: string): [string, ...string[]] {
  const [, before, hosts = '', behind] = urlForm.exec(url) ?? [];
  const [first = '', ...others] = hosts.split(',').map((host) => `${before}${host}${behind}`);
  return others.length === 0 ? [url] : [first, ...others];
}

/** One URL of the hosts of all, with what else the first one says. */
export function urlOfHosts([first = '', ...others]: readonly string[]): string {
  const more = others.map((url) => `,${urlForm.exec(url)?.[2]}`).join('');
  return first.replace(urlForm, (_, before, host, behind) => `${before}${host}${more}${behind}`);
}
