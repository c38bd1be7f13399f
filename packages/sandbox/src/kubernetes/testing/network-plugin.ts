/**
 * A network plug-in (CNI) that a runtime of containers calls for every pod: loopback, and a cable to the node if the file `network`
 * beside it says `open`. It is both of the plug-ins that containerd calls.
 */
export function networkPlugin(dir: string): string {
  return `#!/bin/sh
set -e
cat > /dev/null
inside() { nsenter --net="$CNI_NETNS" ip "$@"; }
case $CNI_COMMAND in
  ADD)
    address=10.244.0.9
    if [ "$CNI_IFNAME" = lo ]; then
      inside link set lo up
    elif [ "$(cat ${dir}/network)" = open ]; then
      exec 9> ${dir}/lock && flock 9
      number=$(($(cat ${dir}/number 2>/dev/null || echo 9) + 1))
      echo $number > ${dir}/number
      address=10.244.0.$number
      ip link add pod$number type veth peer name eth0 netns "$(basename "$CNI_NETNS")"
      ip link set pod$number up
      ip route add $address/32 dev pod$number
      echo 1 > /proc/sys/net/ipv4/ip_forward
      echo 1 > /proc/sys/net/ipv4/conf/pod$number/proxy_arp
      inside addr add $address/24 dev eth0
      inside link set eth0 up
      inside route add default dev eth0
    fi
    echo '{"cniVersion":"0.3.1","interfaces":[{"name":"'$CNI_IFNAME'","sandbox":"'$CNI_NETNS'"}],' \\
      '"ips":[{"version":"4","interface":0,"address":"'$address'/24"}]}';;
  VERSION) echo '{"cniVersion":"0.3.1","supportedVersions":["0.3.0","0.3.1","0.4.0","1.0.0"]}';;
esac
`;
}
