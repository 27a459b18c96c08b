#!/usr/bin/env bash
# Sets one Debian or Ubuntu machine up: Culvert as a service of its own user, behind nginx with TLS. Called again, it brings
# everything up to date and keeps your configuration, keys and data. Needs root.
#
#   ./one-vm.sh --executable ./culvert-linux-x64 --name ai.example.org --certbot you@example.org
#   ./one-vm.sh --executable ./culvert-linux-x64 --name ai.example.org --certificate full.pem --private-key key.pem
#
#   --executable FILE    of a release, or from `npm run build:executable` (docs/install.md)
#   --name HOST          its name in DNS, which callers use
#   --certbot MAIL       gets a certificate from Let's Encrypt, and renews it; port 80 must be reachable
#   --certificate FILE, --private-key FILE
#                        a certificate of yours, with those between it and its root; nginx reads them where they are
#   --full               installs ffmpeg, espeak-ng and Chromium, too
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
executable='' name='' mail='' certificate='' private_key='' full=''

die() {
  echo "one-vm.sh: $*" >&2
  exit 1
}

while [ $# -gt 0 ]; do
  case $1 in
    --executable | --name | --certbot | --certificate | --private-key)
      [ $# -ge 2 ] || die "$1 needs a value"
      case $1 in
        --executable) executable=$2 ;;
        --name) name=$2 ;;
        --certbot) mail=$2 ;;
        --certificate) certificate=$(realpath -m -- "$2") ;;
        --private-key) private_key=$(realpath -m -- "$2") ;;
      esac
      shift 2
      ;;
    --full) full=1 && shift ;;
    --help | -h) sed -n '2,/^set -e/{/^#/s/^# \{0,1\}//p}' "$0" && exit 0 ;;
    *) die "there is no option $1; --help shows those that there are" ;;
  esac
done

[ "$(id -u)" -eq 0 ] || die 'this needs root'
command -v apt-get >/dev/null || die 'this needs Debian or Ubuntu'
[ -x "$executable" ] || die '--executable must name a file that can be executed'
[[ $name =~ ^[A-Za-z0-9.-]+$ ]] || die '--name must be the name of this machine in DNS'
if [ -n "$mail" ]; then
  [ -z "$certificate$private_key" ] || die 'take --certbot or a certificate of yours, not both'
  certificate=/etc/letsencrypt/live/$name/fullchain.pem
  private_key=/etc/letsencrypt/live/$name/privkey.pem
else
  [ -r "$certificate" ] || die '--certificate must name a file (or take --certbot MAIL)'
  [ -r "$private_key" ] || die '--private-key must name a file'
fi

changed=''
# put MODE FROM TO: copies what is new or different.
put() {
  cmp -s "$2" "$3" || changed=1
  install -D -m "$1" "$2" "$3"
}
# secret: letters and digits enough for any key.
secret() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

packages=(nginx curl)
[ -z "$mail" ] || packages+=(certbot)
[ -z "$full" ] || packages+=(ffmpeg espeak-ng chromium)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi

id culvert >/dev/null 2>&1 ||
  useradd --system --user-group --home-dir /var/lib/culvert --no-create-home --shell /usr/sbin/nologin culvert

put 0755 "$executable" /usr/local/bin/culvert
made=$(mktemp -d)
CULVERT_CACHE_DIR=$made/cache culvert man >"$made/man"
CULVERT_CACHE_DIR=$made/cache culvert completion bash >"$made/bash"
install -D -m 0644 "$made/man" /usr/local/share/man/man1/culvert.1
install -D -m 0644 "$made/bash" /usr/share/bash-completion/completions/culvert
rm -rf "$made"
put 0644 "$here/culvert.service" /etc/systemd/system/culvert.service
install -d -m 0750 -o root -g culvert /etc/culvert
if [ ! -e /etc/culvert/culvert.yaml ]; then
  install -m 0640 -o root -g culvert /dev/null /etc/culvert/culvert.yaml
  cat >/etc/culvert/culvert.yaml <<YAML
# Keys are in the file \`environment\` beside this one. Providers and models are best added in the dashboard.
server: { host: 127.0.0.1, public_url: "https://$name", trusted_proxies: [127.0.0.1] }
YAML
fi
if [ ! -e /etc/culvert/environment ]; then
  install -m 0640 -o root -g culvert /dev/null /etc/culvert/environment
  printf 'CULVERT_ADMIN_KEY=sk-cv-admin-%s\nCULVERT_API_KEY=sk-cv-%s\n' "$(secret)" "$(secret)" >/etc/culvert/environment
fi

systemctl daemon-reload
systemctl enable --quiet culvert
if [ -n "$changed" ] || ! systemctl is-active --quiet culvert; then systemctl restart culvert; fi

if [ -n "$mail" ] && [ ! -e "$certificate" ]; then
  # certbot listens on port 80 itself, now and at each renewal of its timer: nginx makes room for some seconds.
  certbot certonly --standalone -n --agree-tos -m "$mail" -d "$name" \
    --pre-hook 'systemctl stop nginx' --post-hook 'systemctl start nginx'
fi
put 0644 "$here/../nginx/location.conf" /etc/nginx/culvert-location.conf
site=$(mktemp)
sed -e "s|NAME|$name|; s|CERTIFICATE|$certificate|; s|PRIVATE_KEY|$private_key|" "$here/../nginx/one-vm.conf" >"$site"
put 0644 "$site" /etc/nginx/conf.d/culvert.conf
rm -f "$site" /etc/nginx/sites-enabled/default
nginx -tq
systemctl enable --quiet nginx
systemctl reload-or-restart nginx

for _ in $(seq 150); do
  if curl -fsS -o /dev/null --max-time 5 http://127.0.0.1:4141/healthz 2>/dev/null; then
    echo "Culvert serves https://$name. The dashboard is at https://$name/dashboard; its key, CULVERT_ADMIN_KEY, and the"
    echo 'first key of callers are in /etc/culvert/environment, where keys of providers may stand too (OPENAI_API_KEY=…).'
    exit 0
  fi
  sleep 0.2
done
journalctl -u culvert -n 20 --no-pager >&2 || true
die 'Culvert does not answer; its log is above'
