import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Where `npm run dev:web` finds a gateway. */
const gateway = process.env.CULVERT_URL ?? 'http://127.0.0.1:4141';
const served = [
  '/admin',
  '/v1',
  '/docs',
  '/dashboard/(session|invitation|oidc|saml)(/|$)',
  '/openapi.json',
  '/healthz',
];

export default defineConfig({
  // Scripts find each other by where they are; the server writes into the page how far it is to them.
  base: './',
  plugins: [react(), tailwindcss()],
  build: {
    target: 'es2023',
    // What is inlined would be a data: URL, which the gateway's Content-Security-Policy refuses for scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: {
    port: 5173,
    proxy: Object.fromEntries(served.map((path) => [`^${path}`, { target: gateway, changeOrigin: true }])),
  },
});
