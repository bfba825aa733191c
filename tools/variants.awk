# variants.awk: a paragraph that holds [[ ]] is written twice, first without what
# the brackets hold and then with it; every other one as it is.
BEGIN { RS = "" }

/^--/ || !/\[\[/ { print $0 "\n"; next }

{
	without = with = $0
	gsub(/\[\[[^]]*\]\]/, "", without)
	gsub(/\[\[|\]\]/, "", with)
	print without "\n\n" with "\n"
}
