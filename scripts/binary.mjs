// @ts-check
/** Tells from its bytes what platform an addon was built for, and how new a C library it needs. */

const ELF_MACHINES = /** @type {Record<number, string>} */ ({ 0x3e: 'x64', 0xb7: 'arm64' })
const MACH_O_CPUS = /** @type {Record<number, string>} */ ({ 0x01000007: 'x64', 0x0100000c: 'arm64' })
const PE_MACHINES = /** @type {Record<number, string>} */ ({ 0x8664: 'x64', 0xaa64: 'arm64' })

/**
 * Identify an addon.
 * @param {Buffer} bytes - the whole file.
 * @returns {{ platform: string, glibc?: string }} the platform as napi-rs spells it, or `unknown`; and the newest glibc whose symbols are asked for.
 */
export function identify(bytes) {
  if (bytes.length < 64) return { platform: 'unknown' }
  if (bytes.readUInt32BE(0) === 0x7f454c46) {
    const arch = ELF_MACHINES[bytes.readUInt16LE(18)] ?? 'unknown'
    const glibc = newestGlibc(bytes)
    return glibc === undefined ? { platform: `linux-${arch}-musl` } : { platform: `linux-${arch}-gnu`, glibc }
  }
  if (bytes.readUInt32LE(0) === 0xfeedfacf) return { platform: `darwin-${MACH_O_CPUS[bytes.readUInt32LE(4)] ?? 'unknown'}` }
  if (bytes.readUInt16LE(0) === 0x5a4d) {
    const header = bytes.readUInt32LE(0x3c)
    if (header + 6 <= bytes.length && bytes.readUInt32BE(header) === 0x50450000) {
      return { platform: `win32-${PE_MACHINES[bytes.readUInt16LE(header + 4)] ?? 'unknown'}-msvc` }
    }
  }
  return { platform: 'unknown' }
}

/**
 * Names of symbol versions stand in an ELF file as plain text. Only a glibc build has any.
 * @param {Buffer} bytes
 */
function newestGlibc(bytes) {
  const versions = [...bytes.toString('latin1').matchAll(/\0GLIBC_(\d+(?:\.\d+)+)(?=\0)/g)].map(([, version = '']) => version)
  return versions.sort(compareVersions).at(-1)
}

/**
 * Order two dotted versions.
 * @param {string} a
 * @param {string} b
 * @returns {number} negative when `a` is the older.
 */
export function compareVersions(a, b) {
  return a.localeCompare(b, 'en', { numeric: true })
}
