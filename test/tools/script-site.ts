import type { ServerResponse } from 'node:http';

/** Pages that are what their scripts make of them. */
type Answer = (response: ServerResponse, url: URL) => void;

const html =
  (body: string): Answer =>
  (response) =>
    void response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(body);

const written = (words: string) => `document.getElementById('root').innerHTML = '<main><p>${words}</p></main>'`;
const app = (script: string) =>
  `<!doctype html><html lang="en"><head><title>App</title></head><body><div id="root"></div><script>${script}</script></body></html>`;

/** `places`: of the site itself, of another that may be reached, and of one that may not. */
export function scriptPages(
  places: () => { other: string; secret: string; secretPort: number },
): Record<string, Answer> {
  const later =
    (script: () => string): Answer =>
    (response) =>
      html(app(script()))(response, new URL('http://x'));
  const reaching = () => {
    const { other, secret, secretPort: port } = places();
    const hosts = ['127.0.0.1', '[::ffff:127.0.0.1]', '[::1]', 'localhost', 'x.localhost', '0.0.0.0', '2130706433'];
    const urls = [
      ...hosts.map((host) => `http://${host}:${port}`),
      secret,
      'http://169.254.169.254',
      'http://10.0.0.1',
    ];
    return `
      const urls = ${JSON.stringify(urls)};
      for (const url of urls) {
        for (const kind of ['img', 'iframe', 'script', 'embed']) {
          const element = document.createElement(kind);
          element.src = url + '/' + kind;
          document.body.append(element);
        }
        const sheet = document.createElement('link');
        Object.assign(sheet, { rel: 'stylesheet', href: url + '/sheet' });
        document.head.append(sheet);
        const hint = document.createElement('link');
        Object.assign(hint, { rel: 'preconnect', href: url });
        document.head.append(hint);
        navigator.sendBeacon(url + '/beacon', 'x');
        try { new WebSocket(url.replace('http', 'ws') + '/socket'); } catch {}
        try { new EventSource(url + '/events'); } catch {}
        const socketInWorker = 'try { new WebSocket(' + JSON.stringify(url.replace('http', 'ws')) + ') } catch {}';
        new Worker(URL.createObjectURL(new Blob([socketInWorker])));
      }
      const form = document.createElement('form');
      Object.assign(form, { method: 'post', action: '${secret}/form', target: 'frame' });
      document.body.append(form);
      const frame = document.createElement('iframe');
      frame.name = 'frame';
      document.body.append(frame);
      form.submit();
      const asks = urls.map((url) => fetch(url + '/fetch', { mode: 'no-cors' }).then(() => 'came', () => 'refused'));
      const redirected = fetch('/to?url=' + encodeURIComponent('${secret}/redirected'), { mode: 'no-cors' });
      asks.push(redirected.then(() => 'came', () => 'refused'));
      const control = fetch('${other}/control', { mode: 'no-cors' }).then(() => 'reached', () => 'not reached');
      Promise.all([control, ...asks]).then(([other, ...all]) => {
        const root = document.getElementById('root');
        root.textContent = 'other ' + other + ', private ' + [...new Set(all)].join(' and ');
      });`;
  };
  return {
    '/app': html(app(`fetch('/words').then((r) => r.text()).then((t) => { ${written("' + t + '")} })`)),
    '/words': (response) => void response.end('words that a script brought'),
    '/late': html(app(`setTimeout(() => { ${written('late words')} }, 700)`)),
    '/gone': (response) => void response.writeHead(404, { 'content-type': 'text/html' }).end('<p>Not any more</p>'),
    '/tall': html('<body style="margin:0"><div style="height:1500px;background:red">tall</div>'),
    '/endless': html('<p>before</p><script>for (;;);</script>'),
    '/endless-later': html('<p>before</p><script>setTimeout(() => { for (;;); })</script>'),
    '/alerts': html("<p>before</p><script>for (;;) alert('again')</script>"),
    '/dialogs': html(
      app(`alert(1); confirm(2); prompt(3); print(); onbeforeunload = () => 'stay'; ${written('after all dialogs')}`),
    ),
    '/popups': html(
      app(`for (let i = 0; i < 50; i++) {
        open('/popup?' + i);
        const link = document.createElement('a');
        Object.assign(link, { href: '/popup?' + i, target: '_blank' });
        document.body.append(link);
        link.click();
      }
      ${written('after all popups')}`),
    ),
    '/popup': html(app('for (;;);')),
    '/file': (response) =>
      void response
        .writeHead(200, { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment; filename=f' })
        .end('file'),
    '/downloads': html(
      app(`const link = document.createElement('a');
        Object.assign(link, { href: '/file', download: 'f' });
        document.body.append(link);
        link.click();
        ${written('after the download')}`),
    ),
    '/plain': (response) => void response.writeHead(200, { 'content-type': 'text/plain' }).end('plain words'),
    '/reaching': later(reaching),
    '/leads-to-private': later(() => `location = '${places().secret}/navigated'`),
    '/refreshes-to-private': (response) =>
      void response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(`<meta http-equiv="refresh" content="0;url=${places().secret}/refreshed"><p>x</p>`),
    '/redirects-to-private': (response) =>
      void response.writeHead(302, { location: `${places().secret}/redirected` }).end(),
    '/redirects-to-file': (response) => void response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    '/leads-to-file': html(app(`location = 'file:///etc/passwd'; ${written('still here')}`)),
    '/redirects-to-other': (response) => void response.writeHead(302, { location: `${places().other}/told` }).end(),
    '/asks-both': later(
      () => `Promise.all([fetch('/told-own'), fetch('${places().other}/told-other', { mode: 'no-cors' })])
        .then(() => { ${written('asked both')} })`,
    ),
    '/told-own': (response) => void response.end('x'),
    '/large': html(app(`fetch('/pour').then((r) => r.blob()).catch(() => { ${written('cut off')} })`)),
    '/pour': (response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      const block = Buffer.alloc(64 * 1024, 'pour');
      const more = () => {
        while (!response.destroyed && response.write(block));
        if (!response.destroyed) response.once('drain', more);
      };
      response.on('error', () => undefined);
      more();
    },
    '/robots.txt': (response) => void response.end('User-agent: *\nDisallow: /forbidden'),
    '/moves-to-forbidden': (response) => void response.writeHead(302, { location: '/forbidden' }).end(),
    '/found': html(app(written('words of a hit'))),
    '/spa': html(app(`document.getElementById('root').innerHTML = '<a href="/spa/one">One</a>'`)),
    '/spa/one': html(app(written('the page behind a link that a script wrote'))),
  };
}
