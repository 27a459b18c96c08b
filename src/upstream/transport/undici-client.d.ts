// Undici's types are those of the whole package.
declare module 'undici/lib/dispatcher/client.js' {
  export { Client as default } from 'undici';
}
