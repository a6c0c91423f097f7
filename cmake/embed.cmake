# cmake -DIN=FILE -DOUT=FILE.c -DNAME=symbol -P embed.cmake: a file as a C array.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "#include <stddef.h>\nextern const unsigned char ${NAME}[];\nextern const size_t ${NAME}_bytes;\n"
     "const unsigned char ${NAME}[] = {\n${bytes}0};\nconst size_t ${NAME}_bytes = sizeof ${NAME} - 1;\n")
